// The page of one trial.

const data = JSON.parse(read("data"));
const lines = read("details").split("\n");
const job = new Map(data.jobs.map((j) => [j.id, j]));
for (const [k, j] of data.jobs.entries()) Object.assign(j, { line: k, hay: `${j.id} ${j.tool} ${j.status} ${j.about}`.toLowerCase() });

const pane = h("div", { class: "detail" });
const side = h("aside", { class: "side" });
const go = (id) => { const found = job.get(id); if (found) { if (!list.place.has(found)) clearFilter(); choose(found); } };

function choose(item) {
  openTab("experiments");
  list.mark(item);
  timeline.mark(item);
  pane.replaceChildren(...detail(item, JSON.parse(lines[item.line]), data, go).flat(4).filter(Boolean));
  pane.parentElement.scrollTop = 0;
  for (const step of side.querySelectorAll(".step")) {
    const on = step.dataset.jobs.split(" ").includes(item.id);
    step.classList.toggle("on", on);
  }
  const first = side.querySelector(".step.on");
  if (first) side.scrollTop = first.offsetTop - side.offsetTop - 40;
  history.replaceState(null, "", `#${item.id}`);
}

const list = new Rows({ height: 44, choose, label: "experiments and queries", render: (j) => h("div", { class: `row ${j.status}` },
  h("div", { class: "top" }, h("span", { class: "n" }, j.query ? `q${j.number}` : j.number), h("b", {}, j.tool), h("span", { class: `status ${j.status}` }, j.status === "completed" || j.status === "answered" ? "" : j.status)),
  h("div", { class: "sub" }, [costs(j.cost), j.lab[1] ? `at ${fmt(j.lab[0], 6)} s` : ""].filter(Boolean).join(" · "))) });

const timeline = new Timeline(data, choose);

// -- filters

const values = (key) => [...new Set(data.jobs.map((j) => j[key]))].sort();
const text = h("input", { type: "search", placeholder: "filter requests  ( / )", "aria-label": "filter by text", oninput: () => filter() });
const tool = h("select", { "aria-label": "filter by tool", onchange: () => filter() }, h("option", { value: "" }, "all tools"), values("tool").map((v) => h("option", { value: v }, v)));
const status = h("select", { "aria-label": "filter by status", onchange: () => filter() }, h("option", { value: "" }, "any status"), values("status").map((v) => h("option", { value: v }, v)));
const count = h("span", { class: "dim count", "aria-live": "polite" });

function filter() {
  const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = data.jobs.filter((j) => (!tool.value || j.tool === tool.value) && (!status.value || j.status === status.value) && wanted.every((w) => j.hay.includes(w)));
  list.set(shown);
  timeline.show(shown);
  count.textContent = shown.length === data.jobs.length ? `${fmt(shown.length)}` : `${fmt(shown.length)} of ${fmt(data.jobs.length)}`;
}

function clearFilter() { text.value = ""; tool.value = ""; status.value = ""; filter(); }

// -- parts

function notebook() {
  return data.notebook.map((e) => h("article", { class: e.appended ? "entry appended" : "entry" },
    h("header", {}, e.appended ? h("b", {}, `appended by the agent, ${fmt(e.wall, 5)} s after the opening, lab clock ${fmt(e.lab, 5)} s`) : [h("b", {}, e.title), ` ${e.date} · ${e.author}`]),
    linked(h("p", { class: "prose" }, e.text), go), e.data ? tree(e.data) : null));
}

function answer() {
  if (!data.answer) return [h("p", {}, "No answer was submitted.")];
  return [h("p", { class: "dim" }, `${fmt(data.answer.bytes)} bytes as submitted`), linked(h("div", {}, tree(data.answer.value)), go)];
}

function session() {
  const e = data.evidence, head = data.session;
  const used = data.budget.map((u) => ({ unit: u.unit, used: fmt(u.used, 6), limit: u.limit === null ? "not metered" : fmt(u.limit, 6), share: u.limit ? `${fmt((100 * u.used) / u.limit, 3)} %` : "" }));
  return [
    e ? h("p", { class: e.problem ? "warn" : "" }, e.problem ? `The evidence does not hold: ${e.problem}` : `The evidence holds: ${fmt(e.events)} events${e.sealed ? ", sealed" : ", not sealed"}.`) : h("p", { class: "warn" }, "There is no bundle: nothing on this page is attested."),
    used.length ? [h("h4", {}, "Budget"), table(used)] : null,
    head ? [h("h4", {}, "Session"), tree(Object.fromEntries(Object.entries(head).filter(([, v]) => v !== null && !(typeof v === "object" && !Object.keys(v).length))))] : null,
    Object.keys(data.usage).length ? [h("h4", {}, "Usage"), tree(data.usage)] : null,
    Object.keys(data.harbor).length ? [h("h4", {}, "Harbor"), tree(data.harbor)] : null,
    data.truth ? [h("h4", {}, "Sealed truth"), h("p", { class: "warn" }, "Hidden from the agent; do not show this page to one that will work on this device."), tree(data.truth)] : null,
    h("p", { class: "dim" }, "Numbers of plots are rounded to 5 significant digits; the records keep all. Lists, texts and tables longer than can be read are cut, and say so."),
  ];
}

const TABS = [
  ["experiments", "Experiments", () => [pane]], ["verdict", "Verdict", () => verdict(data, go)], ["notebook", "Notebook", notebook],
  ["answer", "Answer", answer], ["session", "Session", session],
];
const panels = new Map(), buttons = new Map();
function openTab(name) {
  for (const [key, panel] of panels) { panel.classList.toggle("closed", key !== name); buttons.get(key).setAttribute("aria-selected", key === name ? "true" : "false"); }
}
for (const [k, [key, label, make]] of TABS.entries()) {
  panels.set(key, h("section", { class: `panel ${key}`, role: "tabpanel", "aria-label": label }, h("h2", { class: "onpaper" }, label), make()));
  buttons.set(key, h("button", { type: "button", role: "tab", onclick: () => openTab(key) }, label));
  onKey([String(k + 1)], label.toLowerCase(), () => openTab(key));
}

const told = steps(data, go);
side.append(h("h2", {}, data.trajectory ? "Agent" : "Agent's output"), ...told.flat(4).filter(Boolean));
const card = data.task_card;
document.body.append(
  h("header", { class: "top" },
    data.back ? h("a", { href: data.back, class: "back" }, "‹ all trials") : null,
    h("h1", {}, card ? card.title : data.task), h("code", {}, data.task), data.verdict ? badge(data.verdict.outcome) : badge(data.fault ? "infrastructure_fault" : "ungraded"),
    h("span", { class: "dim" }, `${data.system} · repeat ${data.repeat + 1}`), data.session && data.session.reproducible ? h("span", { class: "flag" }, "reproducible device: does not count") : null,
    data.evidence && data.evidence.problem ? h("span", { class: "flag" }, "evidence does not hold") : null, data.attested === false || !data.evidence ? h("span", { class: "flag" }, "unattested") : null,
    h("span", { class: "space" }), data.session ? h("span", { class: "dim" }, `lab ${duration(data.session.lab_s)} · wall ${duration(data.session.wall_s)} · ${fmt(data.jobs.length)} requests`) : null, tools()),
  data.jobs.length ? timeline.element : "",
  h("main", { class: told.length ? "three" : "two-columns" },
    h("nav", { class: "list" }, h("div", { class: "filters" }, text, h("div", { class: "pair" }, tool, status, count)), list.element),
    h("div", { class: "content" }, h("div", { class: "tabs", role: "tablist" }, [...buttons.values()]), h("div", { class: "panels" }, [...panels.values()])),
    told.length ? side : null));

onKey(["ArrowDown", "j"], "next", () => list.step(1));
onKey(["ArrowUp", "k"], "previous", () => list.step(-1));
onKey(["PageDown"], "ten on", () => list.step(10));
onKey(["PageUp"], "ten back", () => list.step(-10));
onKey(["Home"], "first", () => list.step(-1e9));
onKey(["End"], "last", () => list.step(1e9));
onKey(["/"], "filter", () => text.focus());
onKey(["Escape"], "clear the filter", clearFilter);

filter();
const asked = job.get(decodeURIComponent(location.hash.slice(1)));
if (asked || data.jobs.length) choose(asked || data.jobs[0]);
if (!asked) openTab(data.verdict || !data.jobs.length ? "verdict" : "experiments");

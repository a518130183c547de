// The page of a folder of trials.

const data = JSON.parse(read("data"));
for (const t of data.trials) t.hay = `${t.task} ${t.system} ${t.trial_id} ${t.outcome} ${t.pattern} ${t.why} ${t.job}`.toLowerCase();

const row = (t) => h("div", { class: "row trial" },
  h("span", {}, badge(t.outcome)), h("a", { href: t.link || null, title: t.trial_id }, t.task), h("span", { title: t.system }, t.system), h("span", { class: "num" }, t.repeat + 1),
  h("span", { class: "num" }, t.metric === null ? "" : fmt(t.metric, 5)), h("span", { class: "num" }, t.margin === null ? "" : `${t.margin > 0 ? "+" : ""}${fmt(100 * t.margin, 3)} %`),
  h("span", { class: "num" }, Object.keys(t.budget).length ? `${fmt(100 * Math.max(...Object.values(t.budget)), 3)} %` : ""),
  h("span", { class: "dim why", title: t.why }, [t.attested === false ? "unattested" : "", words(t.pattern), t.outcome === "pass" ? "" : t.why].filter(Boolean).join(" · ")));

const choose = (t) => { list.mark(t); };
const list = new Rows({ height: 30, choose, label: "trials", render: row });
list.element.addEventListener("dblclick", () => open());
const open = () => { if (list.chosen && list.chosen.link) location.href = list.chosen.link; };

const values = (key) => [...new Set(data.trials.map((t) => t[key]))].filter(Boolean).sort();
const pick = (key, all) => h("select", { "aria-label": `filter by ${key}`, onchange: () => filter() }, h("option", { value: "" }, all), values(key).map((v) => h("option", { value: v }, words(v))));
const picks = { system: pick("system", "all systems"), task: pick("task", "all tasks"), outcome: pick("outcome", "any outcome"), pattern: pick("pattern", "any pattern") };
const text = h("input", { type: "search", placeholder: "filter  ( / )", "aria-label": "filter by text", oninput: () => filter() });
const count = h("span", { class: "dim count", "aria-live": "polite" });
const share = h("div", { class: "share" });
let sort = null;

function filter() {
  const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = data.trials.filter((t) => Object.entries(picks).every(([k, p]) => !p.value || t[k] === p.value) && wanted.every((w) => t.hay.includes(w)));
  if (sort) shown.sort((a, b) => sort.up * compare(sort.of(a), sort.of(b)));
  list.set(shown);
  count.textContent = `${fmt(shown.length)} of ${fmt(data.trials.length)} trials`;
  shares(shown);
}

const compare = (a, b) => (a === null || a === undefined ? 1 : b === null || b === undefined ? -1 : typeof a === "number" ? a - b : String(a).localeCompare(String(b)));

function shares(shown) {
  const by = new Map();
  for (const t of shown) by.set(t.outcome, (by.get(t.outcome) || 0) + 1);
  share.replaceChildren(...Object.keys(OUTCOMES).filter((o) => by.has(o)).map((o) => {
    const part = h("span", { class: `part ${o}`, title: `${OUTCOMES[o][1]}: ${by.get(o)} of ${shown.length}` }, `${OUTCOMES[o][0]} ${fmt(by.get(o))}`);
    part.style.flexGrow = by.get(o);
    return part;
  }));
}

function grid() {
  const systems = values("system"), tasks = values("task"), cell = new Map();
  for (const t of data.trials) { const key = `${t.task}\n${t.system}`; cell.set(key, [...(cell.get(key) || []), t]); }
  const square = (task, system) => {
    const found = cell.get(`${task}\n${system}`) || [], counted = found.filter((t) => t.outcome !== "infrastructure_fault" && t.outcome !== "ungraded"), passed = counted.filter((t) => t.outcome === "pass").length;
    const f = counted.length ? passed / counted.length : null;
    return h("td", { class: `cell ${f === null ? "none" : f === 1 ? "all" : f === 0 ? "nil" : "some"}`, title: `${task}, ${system}: ${passed} of ${counted.length} passed`,
      onclick: () => { picks.task.value = task; picks.system.value = system; filter(); } }, f === null ? (found.length ? "!" : "") : `${passed}/${counted.length}`);
  };
  return h("div", { class: "scroll" }, h("table", { class: "grid" },
    h("thead", {}, h("tr", {}, h("th", {}), systems.map((v) => h("th", { class: "turned" }, h("span", { title: v }, v))))),
    h("tbody", {}, tasks.map((task) => h("tr", {}, h("th", {}, task), systems.map((system) => square(task, system)))))));
}

const COLUMNS = [["outcome", (t) => t.outcome], ["task", (t) => t.task], ["system", (t) => t.system], ["repeat", (t) => t.repeat], ["metric", (t) => t.metric], ["least margin", (t) => t.margin],
  ["budget used", (t) => (Object.keys(t.budget).length ? Math.max(...Object.values(t.budget)) : null)], ["what failed", (t) => t.why]];
const heads = h("div", { class: "row trial heads" }, COLUMNS.map(([label, of]) => h("button", { type: "button", onclick: () => { sort = { of, up: sort && sort.of === of ? -sort.up : 1 }; filter(); } }, label)));

document.body.append(
  h("header", { class: "top" }, h("h1", {}, data.title), count, h("span", { class: "space" }), tools()),
  h("main", { class: "campaign" }, share, h("details", { open: values("system").length * values("task").length <= 1200 }, h("summary", {}, "Passes by task and system; a click filters"), grid()),
    h("div", { class: "filters wide" }, text, Object.values(picks)), heads, list.element));

onKey(["ArrowDown", "j"], "next", () => list.step(1));
onKey(["ArrowUp", "k"], "previous", () => list.step(-1));
onKey(["Enter", "o"], "open the trial", open);
onKey(["/"], "filter", () => text.focus());
onKey(["Escape"], "clear the filter", () => { text.value = ""; for (const p of Object.values(picks)) p.value = ""; filter(); });
filter();

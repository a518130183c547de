// The agent's side: steps of its trajectory, or what it printed.

function steps(data, go) {
  const t = data.trajectory;
  if (!t) return data.log ? [h("p", { class: "dim" }, `what the agent printed, ${fmt(data.log.bytes)} bytes`), linked(h("pre", { class: "text log" }, data.log.text), go)] : [];
  const who = [t.agent, t.model].filter(Boolean).join(" / "), used = Object.entries(t.usage || {}).map(([k, v]) => `${words(k)} ${fmt(v)}`).join(", ");
  return [
    who || used ? h("p", { class: "dim" }, [who, used].filter(Boolean).join(" · ")) : null,
    t.problem ? h("p", { class: "warn" }, `Cannot be read: ${t.problem}`) : null,
    t.note ? h("p", { class: "warn" }, t.note) : null,
    t.steps.map((step, k) => stepOf(step, k, go)),
  ];
}

function stepOf(step, k, go) {
  const jobs = new Set();
  const calls = step.calls.map((c) => {
    for (const id of JSON.stringify([c.arguments, c.result]).match(JOB) || []) jobs.add(id);
    const short = c.arguments && !isScalar(c.arguments) ? JSON.stringify(c.arguments) : "";
    const box = h("details", { class: c.error ? "call error" : "call" }, h("summary", {}, h("b", {}, c.tool || "observation"), c.error ? " refused " : " ", h("span", { class: "dim" }, short.length > 90 ? `${short.slice(0, 90)}…` : short)));
    // filled when it is opened: a long trajectory is mostly never unfolded
    box.addEventListener("toggle", () => { if (box.childElementCount === 1) box.append(...(c.arguments !== null && c.arguments !== undefined ? [h("h5", {}, "arguments"), tree(c.arguments)] : []), h("h5", {}, "result"), linked(h("div", {}, c.result === null ? h("span", { class: "dim" }, "none shown") : tree(c.result)), go)); });
    return box;
  });
  return h("article", { class: `step ${step.source}`, "data-jobs": [...jobs].join(" ") },
    h("header", {}, `${k + 1} · ${step.source}`, step.time ? h("span", { class: "dim" }, ` ${step.time.slice(11, 19)}`) : null, [...jobs].slice(0, 3).map((id) => jobLink(id, go))),
    step.thought ? h("details", {}, h("summary", { class: "dim" }, "reasoning"), h("pre", { class: "text" }, step.thought)) : null,
    step.text ? h("pre", { class: "text" }, step.text) : null, calls);
}

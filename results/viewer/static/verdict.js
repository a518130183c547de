// The verdict: each check with its value, threshold and margin.

const MARGIN_SPAN = 1;

function marginBar(check) {
  const m = check.margin;
  if (typeof m !== "number") return h("span", { class: "nomargin" }, check.passed ? "holds" : "does not hold");
  const f = clamp(m / MARGIN_SPAN, -1, 1), past = Math.abs(m) > MARGIN_SPAN;
  const svg = s("svg", { viewBox: "0 0 160 16", width: 160, height: 16, role: "img", "aria-label": `margin ${fmt(100 * m, 3)} percent`, class: `margin ${check.passed ? "good" : "bad"}` },
    s("rect", { x: 0.5, y: 2.5, width: 159, height: 11, class: "frame" }),
    s("rect", { x: f < 0 ? 80 + 79 * f : 80, y: 4, width: Math.max(1, Math.abs(79 * f)), height: 8, class: "fillbar" }),
    past ? s("path", { d: f > 0 ? "M152 4l6 4l-6 4z" : "M8 4l-6 4l6 4z", class: "past" }) : null,
    s("line", { x1: 80, x2: 80, y1: 0, y2: 16, class: "zero" }));
  return h("span", { class: "marginbox" }, svg, h("span", { class: "num" }, `${m > 0 ? "+" : ""}${fmt(100 * m, 3)} %`));
}

function verdict(data, go) {
  const v = data.verdict;
  if (!v) return [h("p", {}, data.fault ? `No verdict: ${data.fault}` : "No verdict lies beside the evidence; `qharbor grade` makes one.")];
  const stages = { recompute: "Recomputed from the records", bind: "Bound to the records", score: "Scored" };
  const rows = (stage) => v.checks.filter((c) => c.stage === stage).map((c) => h("tr", { class: c.passed ? "ok" : c.gate ? "fail" : "note" },
    h("td", { class: "sign" }, c.passed ? "✓" : c.gate ? "✗" : "–"),
    h("td", {}, h("div", {}, c.name), c.note ? h("div", { class: "dim" }, c.note) : null, c.category ? h("div", { class: "dim" }, words(c.category)) : null, c.gate ? null : h("div", { class: "dim" }, "informative")),
    h("td", { class: "right" }, withUnit(fmt(c.value) + (c.stderr ? ` ± ${fmt(c.stderr, 2)}` : ""), c.unit)),
    h("td", { class: "right" }, withUnit(fmt(c.threshold), c.unit)),
    h("td", {}, marginBar(c)),
    h("td", { class: "jobs" }, (c.jobs || []).slice(0, 6).map((id) => [jobLink(id, go, id.split("-")[0]), " "]), (c.jobs || []).length > 6 ? h("span", { class: "dim", title: c.jobs.join(" ") }, `and ${c.jobs.length - 6} more`) : null)));
  const known = Object.keys(stages).filter((st) => v.checks.some((c) => c.stage === st));
  const quantities = Object.entries(v.quantities || {});
  return [
    h("p", { class: "lead" }, badge(v.outcome), ` reward ${fmt(v.reward)}`, v.race_metric !== null && v.race_metric !== undefined ? ` · metric ${withUnit(fmt(v.race_metric, 6), v.metric_unit)}, lower is better` : "",
      data.graded ? (data.attested ? "" : " · unattested: no evidence that verified") : " · as recorded beside the evidence, not graded again"),
    v.reason ? h("p", {}, v.reason) : null,
    data.pattern && data.pattern !== "none" ? h("p", {}, "Pattern: ", h("b", {}, words(data.pattern))) : null,
    data.lines.length ? h("ul", {}, data.lines.map((t) => h("li", {}, t))) : null,
    data.differences.length ? [h("h4", {}, "Differences between transcript, recorded verdict and evidence"), h("ul", { class: "warn" }, data.differences.map((t) => h("li", {}, t)))] : null,
    v.checks.length ? h("div", { class: "scroll" }, h("table", { class: "checks" },
      h("thead", {}, h("tr", {}, ["", "check", "value", "threshold", "margin / threshold", "jobs"].map((t) => h("th", {}, t)))),
      known.map((st) => h("tbody", {}, h("tr", { class: "stage" }, h("th", { colspan: 6 }, stages[st])), rows(st))))) : null,
    v.checks.length ? h("p", { class: "dim" }, "Bars: the margin in units of the threshold's scale, from −100 % to +100 %; an arrow where it is beyond. Right of the line passes.") : null,
    data.audit.length ? [h("h4", {}, "Numbers claimed, against the calls shown"), tree(data.audit)] : null,
    quantities.length ? [h("h4", {}, "Quantities of the grader"), h("dl", { class: "facts" }, quantities.map(([k, q]) => [h("dt", {}, k), h("dd", {}, isScalar(q) ? fmt(q, 5) : tree(q))]))] : null,
  ];
}

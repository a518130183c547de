// One experiment: what was asked, what it cost, what came back.

function detail(job, found, data, go) {
  const cited = (data.verdict ? data.verdict.checks : []).filter((c) => (c.jobs || []).includes(job.id));
  const facts = [
    ["status", job.status], ["cost", costs(job.cost) || "free"],
    ["lab clock", job.lab[0] === job.lab[1] ? `${fmt(job.lab[0], 7)} s` : `${fmt(job.lab[0], 7)} – ${fmt(job.lab[1], 7)} s`],
    ["wall clock", job.query ? `${fmt(job.wall[0], 5)} s` : `${fmt(job.wall[0], 5)} – ${fmt(job.wall[1], 5)} s after the opening`], ["event", job.seq],
  ];
  return [
    h("h3", {}, job.tool, " ", h("code", { class: "id" }, job.id)),
    h("dl", { class: "facts" }, facts.map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]), cited.length ? [h("dt", {}, "cited by"), h("dd", {}, `${cited.length} checks of the verdict`)] : null),
    found.problem ? [h("h4", {}, "Problem"), tree(found.problem)] : null,
    found.undrawn ? h("p", { class: "warn" }, `Record: ${found.undrawn}`) : null,
    found.views && found.views.length ? h("div", { class: "views" }, found.views.map(draw)) : null,
    h("div", { class: "two" },
      h("div", {}, h("h4", {}, "Request"), tree(found.request)),
      h("div", {}, found.result !== undefined ? [h("h4", {}, "Result"), linked(tree(found.result), go)] : null,
        found.summary && Object.keys(found.summary).length ? [h("h4", {}, "Summary"), tree(found.summary)] : null)),
    found.arrays ? [h("h4", {}, "Record"), table(found.arrays.map((a) => ({ name: a.name, dtype: a.dtype, shape: `(${(a.shape || []).join(", ")})`, axes: (a.axes || []).join(", "), unit: a.unit, layout: a.layout }))),
      h("p", { class: "dim" }, `${fmt(found.bytes)} bytes, SHA-256 `, h("code", {}, found.sha256))] : null,
  ];
}

const JOB = /\bj\d{4,}-[0-9a-f]{8}\b/g;

// Names of jobs in a rendered piece become buttons that lead to them.
function linked(element, go) {
  const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), found = [];
  while (walk.nextNode()) if (JOB.test(walk.currentNode.data)) found.push(walk.currentNode);
  for (const node of found) {
    const parts = [], text = node.data;
    let at = 0;
    for (const hit of text.matchAll(JOB)) {
      parts.push(text.slice(at, hit.index), jobLink(hit[0], go));
      at = hit.index + hit[0].length;
    }
    node.replaceWith(...parts, text.slice(at));
  }
  JOB.lastIndex = 0;
  return element;
}

const jobLink = (id, go, text = id) => h("button", { type: "button", class: "job", title: id, onclick: (e) => { e.stopPropagation(); go(id); } }, text);

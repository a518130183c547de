// Experiments on the lab clock, a lane a tool, and what was left of each budget. One canvas: thousands of bars stay cheap.

const LANE = 17, BURN = 92, LEFT = 150, RIGHT = 118;

class Timeline {
  constructor(data, choose) {
    Object.assign(this, { jobs: data.jobs, marks: data.marks, choose, shown: new Set(data.jobs), chosen: null });
    this.tools = [...new Set(data.jobs.map((j) => j.tool))];
    this.units = data.budget.filter((u) => u.limit);
    const still = data.jobs.every((j) => j.lab[0] === j.lab[1]);
    this.scale = still ? "order" : "lab";
    this.canvas = h("canvas", { class: "timeline", role: "img", "aria-label": "experiments and budget over time",
      onpointermove: (e) => this.hover(e), onpointerleave: () => this.say(""), onclick: (e) => { const j = this.under(e); if (j) this.choose(j); } });
    this.told = h("span", { class: "told" });
    this.pick = h("select", { "aria-label": "time axis", onchange: () => { this.scale = this.pick.value; this.paint(); } },
      [["lab", "lab clock"], ["wall", "wall clock"], ["order", "order"]].map(([v, text]) => h("option", { value: v, selected: v === this.scale }, text)));
    this.element = h("section", { class: "time" }, h("div", { class: "bar" }, h("h2", {}, "Timeline"), this.pick, this.told), this.canvas);
    new ResizeObserver(() => this.paint()).observe(this.element);
    document.addEventListener("repaint", () => this.paint());
    addEventListener("beforeprint", () => this.paint());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
  }

  say(text) { this.told.textContent = visible(text); }

  span(job, k) {
    if (this.scale === "order") return [k, k + 1];
    return this.scale === "lab" ? job.lab : job.wall;
  }

  at(mark) { return this.scale === "order" ? mark.order : mark[this.scale]; }

  paint() {
    const width = this.element.clientWidth - 24, lanes = this.tools.length, height = lanes * LANE + BURN + 48;
    if (width < 100) return;
    const ratio = Math.max(2, devicePixelRatio || 1), pen = this.canvas.getContext("2d");
    this.canvas.width = width * ratio; this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`; this.canvas.style.height = `${height}px`;
    pen.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement), ink = (name) => style.getPropertyValue(`--${name}`).trim();
    pen.font = "11px system-ui, sans-serif";
    let end = 0;
    this.jobs.forEach((j, k) => { end = Math.max(end, this.span(j, k)[1]); });
    for (const m of this.marks) end = Math.max(end, this.at(m));
    end = end || 1;
    const right = width - RIGHT, x = (v) => LEFT + (v / end) * (right - LEFT), base = lanes * LANE + 6;
    this.x = x; this.end = end;
    pen.strokeStyle = ink("rule"); pen.fillStyle = ink("dim"); pen.lineWidth = 1;
    for (const v of ticks(0, end, 8)) {
      pen.beginPath(); pen.moveTo(x(v), 4); pen.lineTo(x(v), base + BURN + 12); pen.stroke();
      pen.textAlign = "center"; pen.fillText(fmt(v, 4), x(v), base + BURN + 24);
    }
    pen.textAlign = "right";
    pen.fillText({ lab: "lab clock (s)", wall: "wall clock (s)", order: "order" }[this.scale], LEFT - 14, base + BURN + 24);
    this.tools.forEach((tool, k) => {
      pen.fillStyle = ink("ink"); pen.textAlign = "right";
      const label = tool.length > 22 ? `${tool.slice(0, 21)}…` : tool;
      pen.fillText(visible(label), LEFT - 8, 4 + k * LANE + 12);
    });
    this.jobs.forEach((job, k) => {
      const [a, b] = this.span(job, k), lane = this.tools.indexOf(job.tool), left = x(a), wide = Math.max(1.6, x(b) - left - 0.6);
      const on = this.shown.has(job), bad = job.status === "failed" || job.status === "cancelled";
      pen.globalAlpha = on ? 1 : 0.13;
      pen.fillStyle = bad ? ink("bad") : ink(`s${lane % 8}`);
      pen.fillRect(left, 5 + lane * LANE, wide, LANE - 4);
      if (bad && wide > 5) { pen.strokeStyle = ink("paper"); pen.beginPath(); pen.moveTo(left, 5 + lane * LANE); pen.lineTo(left + wide, 1 + (lane + 1) * LANE); pen.stroke(); }
      if (job === this.chosen) { pen.globalAlpha = 1; pen.strokeStyle = ink("ink"); pen.lineWidth = 2; pen.strokeRect(left - 1.5, 3.5 + lane * LANE, wide + 3, LANE - 1); pen.lineWidth = 1; }
    });
    pen.globalAlpha = 1;
    this.burn(pen, ink, x, base + 8, right);
    const signs = { lock: "lock", answer: "answer", note: "note" };
    const named = [];
    for (const m of this.marks) {
      if (!(m.kind in signs)) continue;
      pen.strokeStyle = ink("dim"); pen.setLineDash([2, 3]); pen.beginPath(); pen.moveTo(x(this.at(m)), 4); pen.lineTo(x(this.at(m)), base + BURN + 12); pen.stroke(); pen.setLineDash([]);
      const before = named.at(-1);
      if (before && x(this.at(m)) - before.at < 40) { if (!before.text.includes(signs[m.kind])) before.text += `, ${signs[m.kind]}`; }
      else named.push({ at: x(this.at(m)), text: signs[m.kind] });
    }
    pen.fillStyle = ink("dim"); pen.textAlign = "center";
    for (const n of named) pen.fillText(n.text, n.at, base + BURN + 36);
  }

  burn(pen, ink, x, top, right) {
    const y = (f) => top + (1 - clamp(f, 0, 1)) * (BURN - 4);
    pen.fillStyle = ink("dim"); pen.textAlign = "right";
    if (this.units.length) { pen.fillText("budget left 100 %", LEFT - 8, y(1) + 8); pen.fillText("0 %", LEFT - 8, y(0) + 2); }
    pen.strokeStyle = ink("rule"); pen.strokeRect(LEFT, y(1), right - LEFT, y(0) - y(1));
    const ends = [];
    this.units.forEach((u, k) => {
      let left = 1;
      pen.strokeStyle = ink(`s${k % 8}`); pen.lineWidth = 1.8; pen.setLineDash((DASHES[k % 8] || "").split(" ").filter(Boolean).map(Number));
      pen.beginPath(); pen.moveTo(x(0), y(1));
      this.jobs.forEach((job, i) => {
        const cost = job.cost[u.unit] || 0, [a, b] = this.span(job, i);
        if (!cost) return;
        pen.lineTo(x(a), y(left)); left -= cost / u.limit; pen.lineTo(this.scale === "lab" ? x(b) : x(a), y(left));
      });
      pen.lineTo(right, y(left)); pen.stroke();
      ends.push({ unit: u.unit, left, at: y(left), k });
    });
    pen.setLineDash([]); pen.lineWidth = 1; pen.textAlign = "left";
    ends.sort((a, b) => a.at - b.at);
    let floor = -99;
    for (const e of ends) { floor = Math.max(e.at + 4, floor + 13); e.text = floor; }
    const over = Math.max(0, floor - (top + BURN + 2));
    for (const e of ends) { pen.fillStyle = ink(`s${e.k % 8}`); pen.fillText(`${e.unit} ${fmt(100 * e.left, 3)} %`, right + 8, e.text - over); }
  }

  under(event) {
    const box = this.canvas.getBoundingClientRect(), lane = Math.floor((event.clientY - box.top - 4) / LANE), px = event.clientX - box.left;
    if (lane < 0 || lane >= this.tools.length) return null;
    let best = null, near = 6;
    this.jobs.forEach((job, k) => {
      if (job.tool !== this.tools[lane]) return;
      const [a, b] = this.span(job, k), left = this.x(a), right = Math.max(this.x(b), left + 2), gap = px < left ? left - px : px > right ? px - right : 0;
      if (gap < near) { near = gap; best = job; }
    });
    return best;
  }

  hover(event) {
    const job = this.under(event);
    this.canvas.style.cursor = job ? "pointer" : "";
    this.say(job ? `${job.id}  ${job.tool}  ${job.status}  lab ${fmt(job.lab[0], 6)}–${fmt(job.lab[1], 6)} s  ${costs(job.cost)}` : "");
  }

  show(shown) { this.shown = new Set(shown); this.paint(); }
  mark(job) { this.chosen = job; this.paint(); }
}

const costs = (cost) => Object.entries(cost).filter(([, v]) => v).map(([u, v]) => `${fmt(v, 5)} ${u}`).join(", ");

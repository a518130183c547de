// A list of which only the rows in view exist, so that thousands of entries scroll and filter at once.

class Rows {
  constructor({ height, render, choose, label }) {
    Object.assign(this, { height, render, choose, items: [], chosen: null, live: new Map() });
    this.space = h("div", { class: "space" });
    this.element = h("div", { class: "rows", role: "listbox", tabindex: 0, "aria-label": label, onscroll: () => this.later(), onclick: (e) => this.clicked(e) }, this.space);
    new ResizeObserver(() => this.later()).observe(this.element);
    addEventListener("beforeprint", () => this.paint(true));
    addEventListener("afterprint", () => { this.clear(); this.paint(); });
  }

  set(items) {
    this.items = items;
    this.place = new Map(items.map((item, k) => [item, k]));
    this.space.style.height = `${items.length * this.height}px`;
    this.clear();
    this.paint();
  }

  clear() {
    for (const row of this.live.values()) row.remove();
    this.live.clear();
  }

  later() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => { this.due = false; this.paint(); });
  }

  paint(all = false) {
    const top = this.element.scrollTop, seen = this.element.clientHeight || 800;
    const from = all ? 0 : Math.max(0, Math.floor(top / this.height) - 6);
    const to = all ? this.items.length : Math.min(this.items.length, Math.ceil((top + seen) / this.height) + 6);
    for (const [k, row] of this.live) if (k < from || k >= to) { row.remove(); this.live.delete(k); }
    for (let k = from; k < to; k++) {
      if (this.live.has(k)) continue;
      const row = this.render(this.items[k]);
      row.style.top = `${k * this.height}px`;
      row.style.height = `${this.height}px`;
      row.setAttribute("role", "option");
      row.dataset.row = k;
      if (this.items[k] === this.chosen) row.setAttribute("aria-selected", "true");
      this.live.set(k, row);
      this.space.append(row);
    }
  }

  clicked(event) {
    const row = event.target.closest("[data-row]");
    if (row && !event.target.closest("a")) this.choose(this.items[Number(row.dataset.row)]);
  }

  mark(item) {
    this.chosen = item;
    const k = this.place.get(item);
    if (k !== undefined) {
      const top = k * this.height, view = this.element.clientHeight;
      if (top < this.element.scrollTop) this.element.scrollTop = top;
      else if (top + this.height > this.element.scrollTop + view) this.element.scrollTop = top + this.height - view;
    }
    for (const [at, row] of this.live) row.toggleAttribute("aria-selected", false) || (at === k && row.setAttribute("aria-selected", "true"));
    this.paint();
  }

  step(by) {
    if (!this.items.length) return;
    const at = this.place.get(this.chosen);
    const next = at === undefined ? (by > 0 ? 0 : this.items.length - 1) : clamp(at + by, 0, this.items.length - 1);
    this.choose(this.items[next]);
  }
}

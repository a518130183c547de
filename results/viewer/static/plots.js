// Draws the views that `results/viewer/views.py` makes: curves, maps, bars, places. SVG, so that they print; colours from the style.

const W = 440, H = 270, BOX = { left: 58, right: 14, top: 10, bottom: 42 };
const RAMP = [[0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 135, 121], [166, 157, 117], [196, 181, 108], [228, 207, 91], [254, 232, 56]]; // after cividis (Nunez et al. 2018)
const DASHES = ["", "6 3", "2 3", "8 3 2 3", "1 2", "10 4", "4 2 1 2", "3 6"];

function ramp(f) {
  const at = clamp(f, 0, 1) * (RAMP.length - 1), k = Math.min(Math.floor(at), RAMP.length - 2), r = at - k;
  return RAMP[k].map((c, i) => Math.round(c + (RAMP[k + 1][i] - c) * r));
}

function ticks(low, high, n = 5) {
  const raw = (high - low) / n, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((m) => m * power >= raw * 0.999) * power;
  const out = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return out;
}

const axisText = (axis) => (axis.unit ? `${axis.label} (${axis.unit})` : axis.label);

function extent(values, pad) {
  let low = Infinity, high = -Infinity;
  for (const v of values) { if (v === null) continue; if (v < low) low = v; if (v > high) high = v; }
  if (low > high) return [0, 1];
  if (low === high) { const d = Math.abs(low) * 0.1 || 0.5; return [low - d, high + d]; }
  return [low - (high - low) * pad, high + (high - low) * pad];
}

function frame(g, x, y, view, box = BOX, width = W, height = H) {
  const right = width - box.right, bottom = height - box.bottom;
  g.append(s("rect", { x: box.left, y: box.top, width: right - box.left, height: bottom - box.top, class: "frame" }));
  for (const [v, text] of x.ticks) {
    g.append(s("line", { x1: x.at(v), x2: x.at(v), y1: bottom, y2: bottom + 4, class: "tick" }), s("text", { x: x.at(v), y: bottom + 15, class: "num mid" }, text));
  }
  for (const [v, text] of y.ticks) {
    g.append(s("line", { x1: box.left - 4, x2: box.left, y1: y.at(v), y2: y.at(v), class: "tick" }), s("text", { x: box.left - 7, y: y.at(v) + 3.5, class: "num end" }, text));
  }
  g.append(s("text", { x: (box.left + right) / 2, y: height - 6, class: "axis mid" }, axisText(view.x)));
  g.append(s("text", { x: 0, y: 0, transform: `translate(12 ${(box.top + bottom) / 2}) rotate(-90)`, class: "axis mid" }, axisText(view.y)));
}

function linear(low, high, from, to, n) {
  const at = (v) => from + ((v - low) / (high - low)) * (to - from);
  return { at, back: (p) => low + ((p - from) / (to - from)) * (high - low), ticks: ticks(low, high, n).map((v) => [v, fmt(v, 3)]) };
}

function curves(view, svg, say) {
  const all = view.series;
  const [x0, x1] = extent(all.flatMap((c) => c.x), all.some((c) => c.step) ? 0 : 0.03);
  let [y0, y1] = extent(all.flatMap((c) => (c.e ? c.y.flatMap((v, k) => [v - (c.e[k] || 0), v + (c.e[k] || 0)]) : c.y)), 0.06);
  if (view.y.zero) { y0 = 0; }
  const x = linear(x0, x1, BOX.left, W - BOX.right, 5), y = linear(y0, y1, H - BOX.bottom, BOX.top, 5);
  frame(svg, x, y, view);
  all.forEach((c, k) => {
    const g = s("g", { class: `series s${k % 8}` });
    const points = c.x.map((v, i) => [x.at(v), c.y[i] === null ? null : y.at(c.y[i])]).filter((p) => p[1] !== null);
    let path = "";
    points.forEach(([px, py], i) => {
      if (i === 0) path = `M${px.toFixed(1)} ${py.toFixed(1)}`;
      else path += c.step ? `H${px.toFixed(1)}V${py.toFixed(1)}` : `L${px.toFixed(1)} ${py.toFixed(1)}`;
    });
    g.append(s("path", { d: path, class: c.dots ? "line faint" : "line", "stroke-dasharray": DASHES[k % 8] || null }));
    if (c.e) g.append(s("path", { class: "error", d: c.x.map((v, i) => (c.y[i] === null || !c.e[i] ? "" : `M${x.at(v).toFixed(1)} ${y.at(c.y[i] - c.e[i]).toFixed(1)}V${y.at(c.y[i] + c.e[i]).toFixed(1)}`)).join("") }));
    if (c.dots) points.forEach(([px, py]) => g.append(marker(k, px, py)));
    svg.append(g);
  });
  const named = all.filter((c) => c.name);
  svg.addEventListener("pointermove", (event) => {
    const at = x.back(where(event, svg)[0]);
    say(all.map((c) => { let best = 0; c.x.forEach((v, i) => { if (Math.abs(v - at) < Math.abs(c.x[best] - at)) best = i; });
      const e = c.e && c.e[best] ? ` ± ${fmt(c.e[best], 2)}` : ""; return `${c.name ? c.name + ": " : ""}${withUnit(fmt(c.x[best]), view.x.unit)} → ${withUnit(fmt(c.y[best]) + e, view.y.unit)}`; }).slice(0, 3).join("   "));
  });
  return named.length > 1 ? h("div", { class: "legend" }, all.map((c, k) => h("span", { class: `s${k % 8}` },
    s("svg", { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" }, s("g", { class: `series s${k % 8}` }, s("path", { d: "M0 6H26", class: "line", "stroke-dasharray": DASHES[k % 8] || null }), c.dots ? marker(k, 13, 6) : null)), c.name))) : null;
}

function map(view, svg, say) {
  const { rows, cols, values } = view;
  const box = { ...BOX, right: 74 };
  if (view.y.names) box.left = clamp(12 + 6.2 * Math.max(...view.y.names.map((t) => t.length)), 58, 120);
  const width = view.square ? 392 : W, height = view.square ? 306 : clamp(rows * 9 + 60, H, 430);
  if (view.square) { box.left = 58; box.right = 392 - 58 - (306 - box.top - box.bottom); }
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const w = width - box.left - box.right, t = height - box.top - box.bottom;
  const root = view.z.root, [z0, z1] = root ? [0, Math.max(1e-12, ...values.filter((v) => v !== null))] : extent(values, 0);
  const canvas = document.createElement("canvas");
  canvas.width = cols; canvas.height = rows;
  const pen = canvas.getContext("2d"), image = pen.createImageData(cols, rows);
  values.forEach((v, k) => {
    const r = Math.floor(k / cols), at = 4 * ((rows - 1 - r) * cols + (k % cols)), f = (v - z0) / (z1 - z0 || 1);
    const [red, green, blue] = v === null ? [255, 255, 255] : ramp(root ? Math.sqrt(Math.max(f, 0)) : f);
    image.data.set([red, green, blue, v === null ? 0 : 255], at);
  });
  pen.putImageData(image, 0, 0);
  svg.append(s("image", { x: box.left, y: box.top, width: w, height: t, preserveAspectRatio: "none", class: "cells", href: canvas.toDataURL() }));
  const places = (axis, n, from, to) => {
    const at = (k) => from + ((k + 0.5) / n) * (to - from);
    if (axis.names) { const every = Math.ceil(n / Math.max(1, Math.floor(Math.abs(to - from) / (from > to ? 11 : 34)))); return { at, ticks: axis.names.map((text, k) => [k, text]).filter((_, k) => k % every === 0) }; }
    const marks = axis.at || [...Array(n).keys()];
    const whole = marks.every(Number.isInteger), even = n < 3 || Math.abs((marks[n - 1] - marks[0]) / (n - 1) - (marks[1] - marks[0])) < 0.02 * Math.abs(marks[1] - marks[0]);
    if (even && n > 1) { const d = (marks[n - 1] - marks[0]) / (n - 1); return { at, ticks: ticks(Math.min(marks[0], marks[n - 1]), Math.max(marks[0], marks[n - 1]), 5).filter((v) => !whole || Number.isInteger(v)).filter((v) => n > 8 || Math.abs((v - marks[0]) / d - Math.round((v - marks[0]) / d)) < 1e-6).map((v) => [(v - marks[0]) / d, fmt(v, 3)]) }; }
    const every = Math.ceil(n / 6);
    return { at, ticks: marks.map((v, k) => [k, fmt(v, 3)]).filter((_, k) => k % every === 0) };
  };
  const x = places(view.x, cols, box.left, width - box.right), y = places(view.y, rows, height - box.bottom, box.top);
  frame(svg, x, y, view, box, width, height);
  if (view.dots) {
    const back = (axis, n) => (v) => (n > 1 ? (v - axis.at[0]) / ((axis.at[n - 1] - axis.at[0]) / (n - 1)) : 0);
    const bx = back(view.x, cols), by = back(view.y, rows);
    view.dots[0].forEach((v, k) => svg.append(s("circle", { cx: x.at(bx(v)), cy: y.at(by(view.dots[1][k])), r: 3, class: "ring" })));
  }
  scale(svg, width - box.right + 12, box.top, t, z0, z1, view.z, root);
  svg.addEventListener("pointermove", (event) => {
    const [px, py] = where(event, svg), c = Math.floor(((px - box.left) / w) * cols), r = rows - 1 - Math.floor(((py - box.top) / t) * rows);
    if (c < 0 || r < 0 || c >= cols || r >= rows) return;
    const name = (axis, k) => (axis.names ? axis.names[k] : axis.at ? withUnit(fmt(axis.at[k]), axis.unit) : k);
    const v = values[r * cols + c];
    say(`${view.x.label} ${name(view.x, c)}, ${view.y.label} ${name(view.y, r)}: ${v === null ? "none" : withUnit(fmt(v), view.z.unit)}`);
  });
}

function scale(svg, left, top, height, z0, z1, z, root) {
  const n = 40;
  for (let k = 0; k < n; k++) svg.append(s("rect", { x: left, y: top + height * (1 - (k + 1) / n), width: 10, height: height / n + 0.6, fill: `rgb(${ramp((k + 0.5) / n).join(" ")})` }));
  svg.append(s("rect", { x: left, y: top, width: 10, height, class: "frame" }));
  const at = (v) => top + height * (1 - (root ? Math.sqrt((v - z0) / (z1 - z0 || 1)) : (v - z0) / (z1 - z0 || 1)));
  if (z1 > z0) for (const v of ticks(z0, z1, root ? 4 : 5)) svg.append(s("line", { x1: left + 10, x2: left + 13, y1: at(v), y2: at(v), class: "tick" }), s("text", { x: left + 15, y: at(v) + 3.5, class: "num" }, fmt(v, 3)));
  svg.append(s("text", { transform: `translate(${left + 52} ${top + height / 2}) rotate(-90)`, class: "axis mid" }, axisText(z)));
}

function bars(view, svg, say) {
  const n = view.labels.length, longest = Math.max(...view.labels.map((t) => t.length));
  const upright = n * 7 * Math.min(longest, 3) > W - 80 && longest > 2;
  const box = { ...BOX, bottom: upright ? 34 + Math.min(longest, 20) * 6 : BOX.bottom }, height = H + box.bottom - BOX.bottom;
  svg.setAttribute("viewBox", `0 0 ${W} ${height}`);
  const top = Math.max(1e-12, ...view.values.map((v, k) => v + ((view.e && view.e[k]) || 0))) * 1.06;
  const y = linear(0, top, height - box.bottom, box.top, 5), slot = (W - box.left - box.right) / n, every = upright ? 1 : Math.ceil((n * 6 * longest + n * 4) / (W - 70));
  frame(svg, { at: (v) => v, ticks: [] }, y, view, box, W, height);
  view.values.forEach((v, k) => {
    const mid = box.left + slot * (k + 0.5), wide = clamp(slot * 0.72, 0.8, 44), left = mid - wide / 2;
    svg.append(s("rect", { x: left, y: y.at(v), width: wide, height: Math.max(0, y.at(0) - y.at(v)), class: "bar" }));
    if (view.e && view.e[k]) svg.append(s("path", { d: `M${mid} ${y.at(Math.max(0, v - view.e[k]))}V${y.at(v + view.e[k])}`, class: "error bare" }));
    if (k % every === 0) svg.append(upright ? s("text", { transform: `translate(${mid + 3} ${y.at(0) + 6}) rotate(-90)`, class: "num end" }, view.labels[k]) : s("text", { x: mid, y: y.at(0) + 15, class: "num mid" }, view.labels[k]));
  });
  svg.addEventListener("pointermove", (event) => {
    const k = Math.floor((where(event, svg)[0] - box.left) / slot);
    if (k >= 0 && k < n) say(`${view.x.label} ${view.labels[k]}: ${fmt(view.values[k])}${view.e ? ` ± ${fmt(view.e[k], 2)}` : ""}`);
  });
}

function places(view, svg, say) {
  const box = { ...BOX, right: 74 }, [xs, ys] = view.at, height = 320;
  svg.setAttribute("viewBox", `0 0 ${W} ${height}`);
  const [x0, x1] = extent(xs, 0.08), [y0, y1] = extent(ys, 0.08);
  const room = [W - box.left - box.right, height - box.top - box.bottom], unit = Math.min(room[0] / (x1 - x0), room[1] / (y1 - y0));
  const mx = (x0 + x1) / 2, my = (y0 + y1) / 2, hx = room[0] / unit / 2, hy = room[1] / unit / 2;
  const x = linear(mx - hx, mx + hx, box.left, W - box.right, 5), y = linear(my - hy, my + hy, height - box.bottom, box.top, 5);
  frame(svg, x, y, view, box, W, height);
  const [z0, z1] = extent(view.values, 0);
  let near = Infinity;
  for (let a = 0; a < Math.min(xs.length, 60); a++) for (let b = 0; b < a; b++) { const d = Math.hypot(xs[a] - xs[b], ys[a] - ys[b]); if (d > 0) near = Math.min(near, d); }
  const radius = clamp(near * unit * 0.4, 3, 15);
  xs.forEach((v, k) => svg.append(s("circle", { cx: x.at(v), cy: y.at(ys[k]), r: radius, class: "place", fill: `rgb(${ramp((view.values[k] - z0) / (z1 - z0 || 1)).join(" ")})`,
    onpointermove: () => say(`(${fmt(v)}, ${fmt(ys[k])}): ${fmt(view.values[k])}`) })));
  scale(svg, W - box.right + 12, box.top, room[1], z0, z1, view.z, false);
}

function where(event, svg) {
  const box = svg.getBoundingClientRect(), [, , w, t] = svg.getAttribute("viewBox").split(" ").map(Number);
  return [((event.clientX - box.left) / box.width) * w, ((event.clientY - box.top) / box.height) * t];
}

function draw(view) {
  const svg = s("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${view.title}: ${axisText(view.y)} against ${axisText(view.x)}` });
  const told = h("span", { class: "told" });
  const say = (text) => { told.textContent = visible(text); };
  const extra = { curves, map, bars, places }[view.kind](view, svg, say);
  return h("figure", { class: `view ${view.kind}` }, h("h4", {}, view.title), svg, extra, told, h("figcaption", {}, view.note));
}

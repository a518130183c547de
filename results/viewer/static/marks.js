// Signs of the curves, so that they can be told apart without colour.

function marker(k, x, y, r = 3) {
  const f = (v) => v.toFixed(1), shape = k % 8;
  const at = { class: "dot" };
  if (shape === 0) return s("circle", { ...at, cx: f(x), cy: f(y), r });
  if (shape === 1) return s("rect", { ...at, x: f(x - r), y: f(y - r), width: 2 * r, height: 2 * r });
  const path = {
    2: `M${f(x)} ${f(y - r * 1.2)}L${f(x + r * 1.1)} ${f(y + r * 0.8)}H${f(x - r * 1.1)}Z`,
    3: `M${f(x)} ${f(y - r * 1.3)}L${f(x + r * 1.1)} ${f(y)}L${f(x)} ${f(y + r * 1.3)}L${f(x - r * 1.1)} ${f(y)}Z`,
    4: `M${f(x)} ${f(y + r * 1.2)}L${f(x + r * 1.1)} ${f(y - r * 0.8)}H${f(x - r * 1.1)}Z`,
    5: `M${f(x - r)} ${f(y - r)}L${f(x + r)} ${f(y + r)}M${f(x - r)} ${f(y + r)}L${f(x + r)} ${f(y - r)}`,
    6: `M${f(x - r * 1.2)} ${f(y)}H${f(x + r * 1.2)}M${f(x)} ${f(y - r * 1.2)}V${f(y + r * 1.2)}`,
    7: `M${f(x - r)} ${f(y)}A${r} ${r} 0 0 1 ${f(x + r)} ${f(y)}Z`,
  }[shape];
  return s("path", { ...at, class: shape === 5 || shape === 6 ? "dot open" : "dot", d: path });
}

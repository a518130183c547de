// Elements are only ever made here, and text is only ever set as text: nothing from a session can become markup.

const SVG_NS = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat(4)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
  return element;
}

const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG_NS, tag), attributes, children);

// Characters that turn or hide text are written out, so that what is read is what stands there.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const visible = (text) => String(text).replace(HIDDEN, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

const read = (id) => document.getElementById(id).textContent;

function fmt(value, digits = 4) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

const withUnit = (value, unit) => (unit && unit !== "1" && value !== "" ? `${value} ${unit}` : value);
const words = (name) => String(name).replaceAll("_", " ");
const clamp = (v, low, high) => Math.min(high, Math.max(low, v));

const isScalar = (v) => v === null || typeof v !== "object";

// A JSON value as nested lists of fields. Fields whose value is that of nothing (empty texts, empty lists) are shown dimmed.
function tree(value, depth = 0) {
  if (isScalar(value)) {
    const text = value === null ? "null" : typeof value === "string" ? value : JSON.stringify(value);
    const long = typeof value === "string" && (value.length > 80 || value.includes("\n"));
    return long ? h("pre", { class: "text" }, text) : h("code", { class: `v ${value === "" || value === null ? "empty" : typeof value}` }, text === "" ? "“”" : text);
  }
  if (Array.isArray(value)) {
    if (value.every(isScalar)) {
      if (value.some((v) => typeof v === "string" && v.length > 80)) return h("div", { class: "items" }, value.map((v) => tree(v, depth + 1)));
      return h("code", { class: "v list" }, `[${value.map((v) => (typeof v === "string" ? v : JSON.stringify(v))).join(", ")}]`);
    }
    if (value.every((v) => !isScalar(v) && !Array.isArray(v) && Object.values(v).every(isScalar)) && value.length > 1) return table(value);
    return h("ol", { class: "tree", start: 0 }, value.map((v) => h("li", {}, tree(v, depth + 1))));
  }
  const fields = Object.entries(value);
  if (!fields.length) return h("code", { class: "v empty" }, "{}");
  const body = h("dl", { class: "tree" }, fields.map(([k, v]) => [h("dt", {}, k), h("dd", {}, tree(v, depth + 1))]));
  return depth > 3 && fields.length > 8 ? h("details", {}, h("summary", {}, `${fields.length} fields`), body) : body;
}

// Flat objects as a table; columns that are empty throughout are left out.
function table(rows) {
  const columns = [...new Set(rows.flatMap((r) => Object.keys(r)))].filter((c) => rows.some((r) => r[c] !== "" && r[c] !== null && r[c] !== undefined));
  return h("div", { class: "scroll" }, h("table", { class: "plain" },
    h("thead", {}, h("tr", {}, columns.map((c) => h("th", {}, c)))),
    h("tbody", {}, rows.map((r) => h("tr", {}, columns.map((c) => h("td", {}, r[c] === undefined || r[c] === null ? "" : String(r[c]))))))));
}

const OUTCOMES = {
  pass: ["✓", "pass"], science_failure: ["✗", "science failure"], contract_failure: ["▲", "contract failure"],
  no_submission: ["○", "no submission"], infrastructure_fault: ["!", "infrastructure fault"], ungraded: ["?", "not graded"],
};

function badge(outcome) {
  const [mark, label] = OUTCOMES[outcome] || ["?", words(outcome)];
  return h("span", { class: `badge ${outcome in OUTCOMES ? outcome : "ungraded"}` }, `${mark} ${label}`);
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 120) return `${fmt(seconds, 3)} s`;
  if (seconds < 7200) return `${fmt(seconds / 60, 3)} min`;
  return `${fmt(seconds / 3600, 3)} h`;
}

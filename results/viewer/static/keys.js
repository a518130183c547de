// Keyboard, theme and help.

const KEYS = new Map();
function onKey(keys, help, act) {
  for (const key of keys) KEYS.set(key, { act, help: key === keys[0] ? help : "", label: keys.map((k) => (k === " " ? "Space" : k)).join("  ") });
}

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.matches("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing && event.key === "Escape") { event.target.blur(); event.preventDefault(); return; }
  if (typing && !(event.target.matches("input") && (event.key === "ArrowDown" || event.key === "Enter"))) return;
  if (typing) event.target.blur();
  const bound = KEYS.get(event.key === "Enter" && typing ? "ArrowDown" : event.key);
  if (bound) { bound.act(event); event.preventDefault(); }
});

function turnTheme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  document.dispatchEvent(new Event("repaint"));
}

function help() {
  const open = document.querySelector("dialog[open]");
  if (open) { open.close(); return; }
  const rows = [...KEYS.values()].filter((k) => k.help).map((k) => h("tr", {}, h("th", {}, k.label), h("td", {}, k.help)));
  const dialog = h("dialog", { onclose: () => dialog.remove(), onclick: () => dialog.close() }, h("h2", {}, "Keys"), h("table", { class: "plain" }, rows));
  document.body.append(dialog);
  dialog.showModal();
}

onKey(["?"], "this table", help);
onKey(["t"], "light or dark", turnTheme);
onKey(["p"], "print", () => print());

const tools = () => h("span", { class: "tools" },
  h("button", { type: "button", onclick: turnTheme, title: "light or dark (t)", "aria-label": "light or dark" }, "◐"),
  h("button", { type: "button", onclick: help, title: "keys (?)", "aria-label": "keys" }, "?"));

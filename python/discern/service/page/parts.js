// Small parts of the page: elements, tables, notices. Texts only ever become text nodes.
export const byId = (id) => document.getElementById(id);

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export function fillTable(table, head, rows, texts = []) {
  const mark = (place) => (texts.includes(place) ? "text" : "");
  const line = (kind, cells) => element("tr", {}, ...cells.map((cell, place) =>
    element(kind, kind === "th" ? { className: mark(place), scope: "col" } : { className: mark(place) }, String(cell))));
  const parts = [];
  if (head.length) parts.push(element("thead", {}, line("th", head)));
  const body = element("tbody");
  for (const row of rows) body.append(line("td", row)); // many rows are too much for one call
  parts.push(body);
  table.replaceChildren(...parts);
}

export function percent(share) {
  if (share > 0.9999 && share < 1) return "> 99.99%";
  return share < 0.0001 && share > 0 ? "< 0.01%" : `${(100 * share).toFixed(2)}%`;
}
export const signed = (number) => (number < 0 ? "−" : "+") + Math.abs(number).toFixed(2);
export const rows = (number) => `${counted(number)} ${number === 1 ? "row" : "rows"}`;
export const counted = (number) => Number(number).toLocaleString("en-US");

export function notice(text, action = null, bad = false) {
  const place = byId("notice");
  place.className = bad ? "bad" : "";
  place.replaceChildren(element("span", {}, text), ...(action ? [action] : []));
}

export function later(work, delay) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, delay);
  };
}

// A label, or the list of labels of a row that may have several.
export const named = (label) => (Array.isArray(label) ? label.join(", ") || "no label" : String(label));

// The form of a row: a control for each column, with the values that the model knows.
import { byId, element } from "./parts.js";

const MOST_OPTIONS = 60; // more levels are searched by typing
const UNKNOWN = "not known";

export function showFields(fields) {
  byId("fields").replaceChildren(...fields.map(field));
  byId("fields").classList.toggle("many", fields.filter((one) => one.role !== "text").length > 2);
}

function field(about, place) {
  const id = `field-${place}`, [control, ...more] = controls(about, id);
  control.dataset.column = about.name;
  control.dataset.role = about.role;
  const hint = about.range ? [element("span", { className: "soft range" }, `mostly ${about.range[0]} to ${about.range[1]}`)] : [];
  return element("div", { className: `field ${about.role}` },
    element("label", { htmlFor: id }, element("bdi", {}, about.name), ...hint), control, ...more);
}

function controls(about, id) {
  const { role, levels = [], range } = about;
  if (role === "text") return [element("textarea", { id, dir: "auto", spellcheck: false, rows: 4, placeholder: "Type or paste a text" })];
  if (role === "vector") return [element("textarea", { id, rows: 2, spellcheck: false, placeholder: `[0.1, 0.2, … ${about.n_axes} numbers]` })];
  if (role === "number") return number(id, about.name, range);
  const values = role === "flag" ? ["yes", "no"] : levels;
  if (values.length && values.length <= MOST_OPTIONS) {
    return [element("select", { id, dir: "auto" }, ...["", ...values].map((value) => element("option", { value }, value || UNKNOWN)))];
  }
  const list = element("datalist", { id: `${id}-levels` }, ...values.map((value) => element("option", { value })));
  return [element("input", { id, type: "text", list: `${id}-levels`, dir: "auto", placeholder: values.length ? `${values.length} known values` : "" }), list];
}

// The number is typed or slid; it stays unknown until one of the two was done.
function number(id, name, range) {
  const typed = element("input", { id, type: "number", step: "any", placeholder: UNKNOWN });
  if (!range) return [typed];
  const [min, max, step] = range;
  const slider = element("input", { type: "range", min, max, step, className: "unset", "aria-label": `${name}, slider` });
  slider.value = String((min + max) / 2);
  slider.addEventListener("input", () => { typed.value = slider.value; slider.className = ""; });
  typed.addEventListener("input", () => {
    slider.className = typed.value === "" ? "unset" : "";
    if (typed.value !== "") slider.value = typed.value;
  });
  return [typed, slider];
}

const all = () => byId("fields").querySelectorAll("[data-column]");

export function row() {
  const values = {};
  for (const control of all()) {
    const { column, role } = control.dataset, value = control.value;
    if (value.trim() !== "") values[column] = parsed(value, role);
  }
  return values;
}

function parsed(value, role) {
  if (role === "number") return Number(value);
  if (role !== "vector") return value.toWellFormed ? value.toWellFormed() : value;
  try { return JSON.parse(value); } catch { return value; } // the service tells what a vector is
}

export function fill(values) {
  for (const control of all()) {
    const value = values[control.dataset.column];
    control.value = value === undefined ? "" : String(value);
    control.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

// Predict while typing: label, probabilities, the weight of each word, what would flip the label; and feedback.
import { post, teach } from "./api.js";
import { byId, element, fillTable, later, notice, percent, signed } from "./parts.js";

const STRONG = 3; // nats from which a word has its full color, as in the report; less in a text without strong words
const MOST_BARS = 30;
let model, running = null, changed = () => {};

export function start(card, whenChanged) {
  model = card;
  changed = whenChanged;
  byId("fields").replaceChildren(...card.features.map(field));
  const soon = later(show, 120);
  byId("form").addEventListener("input", soon);
  byId("form").addEventListener("submit", (event) => { event.preventDefault(); show(); });
  byId("teach-other").addEventListener("submit", (event) => {
    event.preventDefault();
    const label = byId("other-label").value.trim();
    if (label) learn(label);
  });
}

function field(feature, place) {
  const id = `field-${place}`, name = feature.name;
  const control = feature.role === "text"
    ? element("textarea", { id, dir: "auto", spellcheck: false, placeholder: "Type or paste a text" })
    : feature.role === "flag"
      ? element("select", { id }, ...["", "yes", "no"].map((value) => element("option", { value }, value || "not known")))
      : element("input", { id, type: feature.role === "number" ? "number" : "text", step: "any", dir: "auto" });
  control.dataset.column = name;
  control.dataset.role = feature.role;
  return element("label", { htmlFor: id }, element("bdi", {}, name), control);
}

export function row() {
  const values = {};
  for (const control of byId("fields").querySelectorAll("[data-column]")) {
    const { column, role } = control.dataset, value = control.value;
    if (value.trim() === "") continue;
    values[column] = role === "number" ? Number(value) : value.toWellFormed ? value.toWellFormed() : value;
  }
  return values;
}

export async function show() {
  if (running) running.abort();
  const values = row(), mine = running = new AbortController();
  const empty = Object.keys(values).length === 0;
  for (const id of ["result", "evidence", "teach"]) if (empty) byId(id).hidden = true;
  if (empty) return;
  try {
    const seen = await post("/v1/explain", values, { signal: mine.signal });
    if (mine === running) draw(seen);
  } catch (error) {
    if (error.name !== "AbortError") notice(error.message, null, true);
  }
}

function draw(seen) {
  byId("label").textContent = seen.label;
  byId("probability").textContent = percent(seen.probability);
  const ranked = Object.entries(seen.probabilities).sort((one, other) => other[1] - one[1]);
  byId("bars").replaceChildren(...ranked.slice(0, MOST_BARS).map(bar));
  byId("flip").replaceChildren(...flip(seen));
  byId("for-name").textContent = seen.label;
  byId("texts").replaceChildren(...Object.entries(seen.segments).map(([column, parts]) => evidenceText(column, parts, seen)),
    ...values(seen));
  fillTable(byId("terms"), ["term", "column", "times", "nats"],
    seen.terms.map((term) => [term.described, term.column, term.count, signed(term.weight)]), [0, 1]);
  drawTeaching(seen, ranked);
  byId("result").hidden = byId("evidence").hidden = false;
}

function bar([label, share]) {
  const fill = element("div", { className: "fill" });
  fill.style.width = `${100 * share}%`;
  return element("div", { className: "bar", role: "listitem" },
    element("span", { dir: "auto", title: label }, label),
    element("div", { className: "track", "aria-hidden": "true" }, fill),
    element("span", { className: "number" }, percent(share)));
}

function flip(seen) {
  if (seen.label === seen.against) return [];
  if (seen.known_terms === 0) return [element("b", {}, "The model knows no word or value of this row.")];
  if (!seen.flip) return ["Removing three words or fewer would not change the label to ", element("b", { dir: "auto" }, seen.against), "."];
  const words = seen.flip.flatMap((word, place) => [place ? ", " : "", element("b", { dir: "auto" }, named(word, seen))]);
  return ["Without ", ...words, " the label would be ", element("b", { dir: "auto" }, seen.against), "."];
}

// A value that is not a word is shown with its column.
function named(word, seen) {
  const found = seen.terms.find((term) => term.term === word);
  if (!found) return word;
  return isValue(found) && found.view !== "length" ? `${found.column} ${word}` : found.shown;
}

const isValue = (term) => term.view === "length" || model.features.some((feature) => feature.name === term.column && feature.role !== "text");

const strongest = (parts) => Math.min(STRONG, Math.max(0.5, ...parts.map((part) => Math.abs(part.weight))));

function colored(text, weight, most, seen) {
  if (Math.abs(weight) < 0.05) return document.createTextNode(text);
  const label = weight > 0 ? seen.label : seen.against;
  const mark = element("mark", { className: weight > 0 ? "for" : "against",
    title: `+${Math.abs(weight).toFixed(2)} nats for ${label}` }, text);
  mark.style.setProperty("--strength", Math.min(Math.abs(weight) / most, 1).toFixed(2));
  return mark;
}

function values(seen) {
  const terms = seen.terms.filter(isValue), most = strongest(terms);
  if (!terms.length) return [];
  return [element("ul", { className: "evidence-text values", "aria-label": "Evidence in the other columns" }, ...terms.map((term) =>
    element("li", {}, element("bdi", { className: "soft" }, term.column), " ", element("bdi", {}, colored(term.term, term.weight, most, seen)))))];
}

function evidenceText(column, parts, seen) {
  const most = strongest(parts);
  const words = parts.map((part) => colored(part.text, part.weight, most, seen));
  const name = Object.keys(seen.segments).length > 1 ? [element("h4", {}, element("bdi", {}, column))] : [];
  const text = element("div", { className: "evidence-text", dir: "auto", tabIndex: 0, role: "region",
    "aria-label": `Evidence in ${column}` }, ...words);
  return element("div", {}, ...name, text);
}

function drawTeaching(seen, ranked) {
  byId("teach").hidden = !model.can_learn;
  const labels = ranked.slice(0, 12).map(([label]) => label);
  byId("teach-buttons").replaceChildren(...labels.map((label) => element("button", {
    type: "button", className: label === seen.label ? "" : "second", onclick: () => learn(label) },
  label === seen.label ? "Yes, it is " : "No, it is ", element("bdi", {}, label))));
}

async function learn(label) {
  const values = row();
  try {
    const receipt = await teach("/v1/learn", { rows: [{ ...values, [model.label]: label }] });
    byId("other-label").value = "";
    notice(`Learned as ${label}.`, undoButton(receipt.sequence));
    await show();
    changed();
  } catch (error) { notice(error.message, null, true); }
}

export function undoButton(sequence) {
  const button = element("button", { type: "button", className: "second", onclick: async () => {
    button.disabled = true;
    try {
      await teach("/v1/undo", { sequence });
      notice("Undone. The model no longer contains it.");
      await show();
      changed();
    } catch (error) { notice(error.message, null, true); }
  } }, "Undo");
  return button;
}

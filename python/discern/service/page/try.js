// Predict while typing: label, probabilities, the weight of each word, what would flip the label; and feedback.
import { post, teach } from "./api.js";
import { fill, row, showFields } from "./fields.js";
import { byId, element, fillTable, later, notice, percent, signed } from "./parts.js";
import * as several from "./several.js";

const STRONG = 3; // nats from which a word has its full color, as in the report; less in a text without strong words
const FAINT = 0.05; // less weight has no color
const MOST_BARS = 30, LONGEST_EXAMPLE = 60;
let model, running = null, changed = () => {}, shown = null;

export function start(card, form, whenChanged) {
  model = card;
  changed = whenChanged;
  showFields(form.fields);
  setExamples(form.examples);
  hint(form);
  several.start(card, { row, show, learned, shown: () => shown });
  const soon = later(show, 120);
  byId("form").addEventListener("input", () => { byId("change").hidden = true; several.forget(); soon(); });
  byId("form").addEventListener("submit", (event) => { event.preventDefault(); show(); });
  byId("teach-other").addEventListener("submit", (event) => {
    event.preventDefault();
    const label = byId("other-label").value.trim();
    if (label) (model.several ? several.add : learn)(label);
  });
}

function hint(form) {
  const first = form.fields.some((field) => field.role === "text") ? "Type a text" : "Fill in some fields";
  byId("hint").textContent = `${first}${form.examples.length ? " or choose an example" : ""} to see its label, and why.`;
}

export function setExamples(examples) {
  byId("examples").hidden = examples.length === 0;
  byId("example-buttons").replaceChildren(...examples.map(({ label, row: values }) => {
    const text = Object.values(values).join(" · ");
    const button = element("button", { type: "button", className: "chip", title: text, onclick: () => fill(values) },
      element("b", { dir: "auto" }, label), " ", element("bdi", {}, text.length > LONGEST_EXAMPLE ? `${text.slice(0, LONGEST_EXAMPLE)}…` : text));
    return button;
  }));
}

export async function show() {
  if (running) running.abort();
  const values = row(), mine = running = new AbortController();
  const empty = Object.keys(values).length === 0;
  for (const id of ["result", "labels", "evidence", "shares", "teach"]) if (empty) byId(id).hidden = true;
  byId("hint").hidden = !empty;
  if (empty) return;
  try {
    const seen = await post(`/v1/explain${several.query()}`, values, { signal: mine.signal });
    if (mine === running) draw(seen);
  } catch (error) {
    if (error.name !== "AbortError") notice(error.message, null, true);
  }
}

function draw(seen) {
  shown = seen;
  if (byId("notice").className === "bad") byId("notice").replaceChildren();
  byId("label").textContent = seen.label;
  byId("probability").textContent = percent(seen.probability);
  const ranked = Object.entries(seen.probabilities).sort((one, other) => other[1] - one[1]);
  byId("bars").replaceChildren(...ranked.slice(0, MOST_BARS).map(bar));
  byId("flip").replaceChildren(...(model.several ? several.flip(seen, named) : flip(seen)));
  byId("for-name").textContent = seen.label;
  byId("texts").replaceChildren(...Object.entries(seen.segments).map(([column, parts]) => evidenceText(column, parts, seen)),
    ...values(seen));
  fillTable(byId("terms"), ["term", "column", "times", "nats"],
    seen.terms.map((term) => [term.described, term.column, term.count, signed(term.weight)]), [0, 1]);
  byId("evidence").hidden = byId("shares").hidden = false;
  byId("teach").hidden = !model.can_learn;
  byId("result").hidden = Boolean(model.several);
  if (model.several) several.draw(seen, ranked);
  else drawTeaching(seen, ranked);
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
  if (!seen.flip) return ["Removing three words or values would not change the label to ", element("b", { dir: "auto" }, seen.against), "."];
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

const strongest = (parts) => Math.min(STRONG, parts.reduce((most, part) => Math.max(most, Math.abs(part.weight)), 0.5));

function colored(text, weight, most, seen) {
  if (Math.abs(weight) < FAINT) return document.createTextNode(text);
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

// The parts of a text; neighbors without color are one part, so that long texts are shown at once.
function joined(parts) {
  const found = [];
  for (const part of parts) {
    const last = found[found.length - 1];
    if (last && Math.abs(last.weight) < FAINT && Math.abs(part.weight) < FAINT) last.words.push(part.text);
    else found.push({ words: [part.text], weight: part.weight });
  }
  return found.map(({ words, weight }) => ({ text: words.join(""), weight }));
}

function evidenceText(column, parts, seen) {
  const most = strongest(parts);
  const name = Object.keys(seen.segments).length > 1 ? [element("h4", {}, element("bdi", {}, column))] : [];
  const text = element("div", { className: "evidence-text", dir: "auto", tabIndex: 0, role: "region",
    "aria-label": `Evidence in ${column}` });
  for (const part of joined(parts)) text.append(colored(part.text, part.weight, most, seen)); // a long text is too much for one call
  return element("div", {}, ...name, text);
}

function drawTeaching(seen, ranked) {
  const labels = ranked.slice(0, 12).map(([label]) => label);
  byId("teach-buttons").replaceChildren(...labels.map((label) => element("button", {
    type: "button", className: label === seen.label ? "" : "second", onclick: () => learn(label) },
  label === seen.label ? "Yes, it is " : "No, it is ", element("bdi", {}, label))));
}

async function learn(label) {
  const values = row(), before = shown;
  try {
    const receipt = await teach("/v1/learn", { rows: [{ ...values, [model.label]: label }] });
    await learned(`Learned as ${label}.`, receipt, label, before);
  } catch (error) { notice(error.message, null, true); }
}

// Shows what has changed since the row was taught: the probability of a label.
async function learned(message, receipt, label, before, undone) {
  byId("other-label").value = "";
  notice(message, undoButton(receipt.sequence, undone));
  await show();
  drawChange(label, before, shown);
  changed();
}

function turned(before, after) {
  if (model.several) return several.turned(before, after);
  return before.label === after.label ? `The label is still ${after.label}.` : `The label was ${before.label} and is now ${after.label}.`;
}

// The probability of the label that was taught, before and after.
function drawChange(label, before, after) {
  const bars = [["before", before], ["now", after]].map(([when, seen]) => bar([when, seen.probabilities[label] || 0]));
  byId("change").replaceChildren(element("p", {}, "Probability of ", element("b", { dir: "auto" }, label)),
    element("div", { role: "list", "aria-label": "Before and after" }, ...bars), element("p", { className: "soft", dir: "auto" }, turned(before, after)));
  byId("change").hidden = false;
}

export function undoButton(sequence, undone = several.forget) {
  const button = element("button", { type: "button", className: "second", onclick: async () => {
    button.disabled = true;
    try {
      await teach("/v1/undo", { sequence });
      notice("Undone. The model no longer contains it.");
      byId("change").hidden = true;
      undone();
      await show();
      changed();
    } catch (error) { notice(error.message, null, true); }
  } }, "Undo");
  return button;
}

// Rows that may have several labels: a chip for each, the evidence for one of them, and teaching by adding or removing one.
import { teach } from "./api.js";
import { byId, element, named as listed, notice, percent } from "./parts.js";

const MOST_OFFERED = 12;
let model, page, chosen = null, taught = null; // the label that is explained; the labels that this row was taught with

export function start(card, theirs) {
  model = card;
  page = theirs;
  if (model.several) byId("teach-title").textContent = "Are these labels correct?";
}

// The row is another one now.
export function forget() {
  chosen = null;
  taught = null;
}

export const query = () => (chosen === null ? "" : `?label=${encodeURIComponent(chosen)}`);

const current = (seen) => taught || seen.labels;

function choose(label) {
  chosen = label;
  page.show();
}

export function draw(seen, ranked) {
  const own = ranked.filter(([label]) => seen.labels.includes(label));
  const others = ranked.filter(([label]) => !seen.labels.includes(label) && label === seen.label);
  const none = own.length ? [] : [element("span", { className: "soft" }, "No label reaches its threshold.")];
  byId("labels").replaceChildren(...none, ...own.map((one) => chip(one, seen, "")), ...others.map((one) => chip(one, seen, " (not predicted)")));
  byId("labels").hidden = false;
  byId("bars").querySelectorAll(".bar").forEach((bar, place) => explainable(bar, ranked[place][0]));
  drawTeaching(seen, ranked);
}

function chip([label, share], seen, note) {
  const button = element("button", { type: "button", className: "chip", onclick: () => choose(label) },
    element("b", { dir: "auto" }, label), ` ${percent(share)}${note}`);
  button.setAttribute("aria-pressed", String(label === seen.label));
  return button;
}

// The name of a bar shows the evidence for its label.
function explainable(bar, label) {
  const name = bar.querySelector("span");
  name.replaceChildren(element("button", { type: "button", className: "plain", title: `Explain ${label}`, onclick: () => choose(label) }, label));
}

export function flip(seen, named) {
  if (seen.known_terms === 0) return [element("b", {}, "The model knows no word or value of this row.")];
  if (!seen.flip) return [];
  const words = seen.flip.flatMap((word, place) => [place ? ", " : "", element("b", { dir: "auto" }, named(word, seen))]);
  return ["Without ", ...words, " the odds would be against ", element("b", { dir: "auto" }, seen.label), "."];
}

export const turned = (before, after) => (listed(before.labels) === listed(after.labels)
  ? `The labels are still: ${listed(after.labels)}.` : `The labels were: ${listed(before.labels)}. They are now: ${listed(after.labels)}.`);

function drawTeaching(seen, ranked) {
  const now = current(seen);
  const others = ranked.map(([label]) => label).filter((label) => !now.includes(label)).slice(0, Math.max(MOST_OFFERED - now.length, 1));
  const yes = taught ? [] : [button("", now.length ? "Yes, exactly these" : "Yes, it has no label", null, () => set(now, now[0] || seen.label, seen))];
  byId("teach-buttons").replaceChildren(...yes,
    ...now.map((label) => button("second", "Remove ", label, () => set(now.filter((one) => one !== label), label, seen))),
    ...others.map((label) => button("second", "Add ", label, () => set([...now, label], label, seen))));
}

function button(kind, text, label, onclick) {
  return element("button", { type: "button", className: kind, onclick }, text, ...(label === null ? [] : [element("bdi", {}, label)]));
}

export function add(label) {
  const seen = page.shown();
  set([...new Set([...current(seen), label])], label, seen);
}

// Teaches the labels of the row; one that was taught before is moved to its new labels.
async function set(labels, changed, before) {
  const values = page.row(), earlier = taught;
  try {
    const receipt = earlier
      ? await teach("/v1/relabel", { rows: [values], from: earlier, to: labels })
      : await teach("/v1/learn", { rows: [{ ...values, [model.label]: labels }] });
    taught = labels;
    chosen = Object.hasOwn(before.probabilities, changed) ? changed : chosen;
    await page.learned(`Learned as ${listed(labels)}.`, receipt, changed, before, () => { taught = earlier; chosen = null; });
  } catch (error) { notice(error.message, null, true); }
}

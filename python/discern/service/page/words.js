// The strongest words of a label, searchable.
import { get } from "./api.js";
import { byId, element, fillTable, later, notice, signed } from "./parts.js";

export function start(card) {
  setLabels(Object.keys(card.priors));
  const soon = later(show, 150);
  byId("words-form").addEventListener("input", soon);
  byId("words-form").addEventListener("submit", (event) => event.preventDefault());
  show();
}

export function setLabels(labels) {
  const chosen = byId("words-label").value;
  byId("words-label").replaceChildren(...labels.map((label) => element("option", { value: label, selected: label === chosen }, label)));
}

export async function show() {
  const query = new URLSearchParams({
    label: byId("words-label").value, search: byId("words-search").value, against: String(byId("words-against").checked), top: "40",
  });
  try {
    const found = await get(`/v1/model/words?${query}`);
    fillTable(byId("words-table"), ["word", "nats", "rows of the label : of others"],
      found.words.map((word) => [word.term, signed(word.weight), word.seen]), [0]);
  } catch (error) { notice(error.message, null, true); }
}

// The latest feedback, which can be undone.
import { get } from "./api.js";
import { byId, element, named } from "./parts.js";
import { undoButton } from "./try.js";

const LONGEST = 200;
let label = "label";

export function start(card) {
  label = card.label;
  if (card.can_learn) show();
}

export async function show() {
  try {
    const { entries } = await get("/v1/feedback?limit=20");
    byId("feedback-none").hidden = entries.length > 0;
    byId("feedback-list").replaceChildren(...entries.map(item));
  } catch (error) {
    byId("feedback-none").textContent = error.message; // a token for reading does not give access to it
  }
}

const text = (row) => Object.entries(row).filter(([name]) => name !== label).map(([, value]) => String(value)).join(" · ").slice(0, LONGEST);

function item(entry) {
  const [row] = entry.learn.length ? entry.learn : entry.forget;
  const learned = entry.learn.length ? `learned as ${named(entry.learn[0][label])}` : "", forgotten = entry.forget.length ? `forgotten as ${named(entry.forget[0][label])}` : "";
  const head = `${entry.action}: ${[learned, forgotten].filter(Boolean).join(", ")}${entry.rows > 1 ? ` (${entry.rows} rows)` : ""}`;
  const time = element("time", { dateTime: new Date(1000 * entry.created).toISOString(), className: "soft" }, new Date(1000 * entry.created).toLocaleString());
  const undo = entry.undone_by === null ? [undoButton(entry.sequence)] : [element("span", { className: "soft" }, `undone by ${entry.undone_by}`)];
  if (entry.undone_by === null) undo[0].setAttribute("aria-label", `Undo entry ${entry.sequence}`);
  return element("li", { value: entry.sequence }, element("p", {}, element("b", {}, head), " ", time),
    element("p", { dir: "auto" }, row ? text(row) : ""), ...undo);
}

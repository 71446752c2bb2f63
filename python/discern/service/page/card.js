// The model card: facts, evaluation on labeled rows, the ROC curve, and the report's threshold explorer.
import { get, post } from "./api.js";
import { byId, counted, fillTable, percent, rows } from "./parts.js";

export function start(card) {
  show(card);
  byId("evaluate").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    status("Evaluating…");
    try {
      evaluated(await post("/v1/model/evaluation.html", file, { kind: "text/csv" }));
      status(`Evaluated on ${file.name}.`);
    } catch (error) { status(error.message); }
  });
  if (card.has_evaluation) get("/v1/model/evaluation.html").then(evaluated).catch((error) => status(error.message));
}

const status = (text) => { byId("evaluate-status").textContent = text; };

export function show(card) {
  byId("subtitle").textContent = `${card.file}: ${card.model}, ${card.rows === null ? "" : rows(card.rows) + ", "}` +
    `${Object.keys(card.priors).length} labels${card.terms ? `, ${counted(card.terms)} terms` : ""}`;
  const labels = Object.entries(card.priors).sort((one, other) => other[1] - one[1]).slice(0, 12);
  const facts = [
    ["model", card.model], ["file", card.file], ["checksum", card.checksum], ["rows learned", card.rows === null ? "not kept" : counted(card.rows)],
    ["feedback in the log", `${rows(card.log.rows)}, up to entry ${counted(card.sequence)}`],
    ["columns", card.features.map((one) => `${one.name} (${one.role})`).join(", ")],
    ["labels", labels.map(([label, share]) => `${label} ${percent(share)}`).join(", ")],
    ["terms", counted(card.terms)], ["parameters", counted(card.parameters)],
    ["smoothing", card.naive_bayes ? inWords(card.naive_bayes.smoothing) : "–"], ["calibration", card.calibration ? inWords(card.calibration) : "none"],
  ];
  if (card.chosen && card.chosen.log_loss !== undefined) facts.push(["held-out log loss", Number(card.chosen.log_loss).toFixed(4)]);
  fillTable(byId("facts"), [], facts, [0, 1]);
}

const inWords = ({ kind, ...more }) => [kind, ...Object.entries(more).filter(([, value]) => typeof value === "number")
  .map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`)].join(", ");

function evaluated(fragment) {
  // Made by this server, with every text escaped; the policy of the page lets nothing in it run.
  byId("evaluation").innerHTML = fragment;
  const embedded = byId("explorer-data");
  byId("roc").hidden = !embedded;
  if (!embedded) return;
  const data = JSON.parse(embedded.textContent);
  window.explore(data);
  for (const id of ["positive", "threshold", "cheapest"]) {
    byId(id).addEventListener(id === "cheapest" ? "click" : "input", () => roc(data));
  }
  byId("evaluation").querySelectorAll(".wide").forEach((table, place) => {
    table.tabIndex = 0; // what scrolls must be reachable by keyboard
    table.setAttribute("role", "region");
    table.setAttribute("aria-label", `Table ${place + 1} of the evaluation`);
  });
  roc(data);
}

function roc(data) {
  const one = data.labels[byId("positive").selectedIndex];
  const points = one.caught.map((caught, place) => [one.alarms[place] / (one.negative || 1), caught / (one.positive || 1)]);
  const at = ([x, y]) => `${(20 + 190 * x).toFixed(2)} ${(200 - 190 * y).toFixed(2)}`;
  byId("roc-line").setAttribute("d", `M${points.map(at).join("L")}`);
  const [x, y] = points[Number(byId("threshold").value)];
  byId("roc-place").setAttribute("cx", String(20 + 190 * x));
  byId("roc-place").setAttribute("cy", String(200 - 190 * y));
  let area = 0;
  for (let place = 1; place < points.length; place += 1) {
    area += (points[place - 1][0] - points[place][0]) * (points[place - 1][1] + points[place][1]) / 2;
  }
  byId("roc-name").textContent = one.name;
  byId("roc-area").textContent = `area ${area.toFixed(4)}; the dot is the threshold chosen below`;
}

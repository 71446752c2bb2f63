"use strict";
// The counts of every threshold are in the page: moving the slider looks them up, and computes nothing but shares.
function explore(data) {
  const byId = (id) => document.getElementById(id);
  const slider = byId("threshold"), label = byId("positive"), alarmCost = byId("alarm-cost"), missCost = byId("miss-cost");
  const share = (part, whole) => (whole ? ((100 * part) / whole).toFixed(2) + "%" : "–");
  const count = (number) => number.toLocaleString("en-US");
  const current = () => data.labels[label ? label.selectedIndex : data.chosen];

  function counts(one, place) {
    const caught = one.caught[place], alarms = one.alarms[place];
    return { caught, alarms, missed: one.positive - caught, spared: one.negative - alarms };
  }
  function cost(one, place) {
    const at = counts(one, place);
    return Number(alarmCost.value) * at.alarms + Number(missCost.value) * at.missed;
  }
  function write(values) {
    for (const [id, text] of Object.entries(values)) byId(id).textContent = text;
  }
  function show() {
    const place = Number(slider.value), one = current(), at = counts(one, place);
    const rows = one.positive + one.negative, spent = cost(one, place);
    write({
      "threshold-shown": data.names[place],
      caught: count(at.caught), alarms: count(at.alarms), missed: count(at.missed), spared: count(at.spared),
      recall: share(at.caught, one.positive), precision: share(at.caught, at.caught + at.alarms),
      "alarm-rate": share(at.alarms, one.negative), "miss-rate": share(at.missed, one.positive),
      f1: share(2 * at.caught, 2 * at.caught + at.alarms + at.missed), accuracy: share(at.caught + at.spared, rows),
      cost: spent.toLocaleString("en-US", { maximumFractionDigits: 2 }), "row-cost": (spent / rows).toFixed(4),
    });
    for (const name of document.querySelectorAll(".positive-name")) name.textContent = one.name;
    for (const name of document.querySelectorAll(".negative-name")) name.textContent = one.other;
    slider.setAttribute("aria-valuetext", data.names[place]);
    draw(one, place);
  }
  function draw(one, place) {
    const costs = data.names.map((_, index) => cost(one, index)), most = Math.max(...costs, 1e-9), last = costs.length - 1;
    const points = costs.map((value, index) => `${(1000 * index / last).toFixed(1)},${(112 - 104 * value / most).toFixed(1)}`);
    byId("cost-line").setAttribute("points", points.join(" "));
    for (const side of ["x1", "x2"]) byId("cost-place").setAttribute(side, String(1000 * place / last));
  }
  function cheapest() {
    const one = current(), costs = data.names.map((_, index) => cost(one, index)), least = Math.min(...costs);
    const best = costs.flatMap((value, index) => (value === least ? [index] : []));
    slider.value = String(best[Math.floor(best.length / 2)]);
    show();
  }
  for (const input of [slider, label, alarmCost, missCost]) if (input) input.addEventListener("input", show);
  byId("cheapest").addEventListener("click", cheapest);
  show();
}
{
  const embedded = document.getElementById("explorer-data");
  if (embedded) explore(JSON.parse(embedded.textContent));
}

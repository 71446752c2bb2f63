// Predictions of a CSV file: a progress bar for the upload, and a link to save the result.
import { headers } from "./api.js";
import { inWords } from "./messages.js";
import { byId, element, fillTable, rows as inRows } from "./parts.js";

const PREVIEW = 10;
const SHOWN = 1 << 18; // bytes of an answer that the first rows are taken from

export function start() {
  const drop = byId("drop");
  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name === "drop" && event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
    });
  }
  byId("csv").addEventListener("change", (event) => { if (event.target.files.length) send(event.target.files[0]); });
}

function send(file) {
  // Not fetch, which does not report the progress of an upload.
  const request = new XMLHttpRequest();
  byId("upload").hidden = false;
  byId("download").hidden = true;
  byId("preview").replaceChildren();
  byId("progress").value = 0;
  byId("progress-label").textContent = `Sending ${file.name}`;
  status("");
  request.open("POST", "/v1/predict/csv");
  for (const [name, value] of Object.entries(headers({ "Content-Type": "text/csv" }))) request.setRequestHeader(name, value);
  request.responseType = "blob";
  request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) byId("progress").value = event.loaded / event.total; });
  request.addEventListener("error", () => status("The upload stopped: the connection broke, or a row could not be read. Nothing was saved."));
  request.addEventListener("load", () => arrived(request));
  request.send(file);
}

async function arrived(request) {
  byId("progress").value = 1;
  byId("progress-label").textContent = "Sent";
  if (request.status !== 200) {
    status(inWords(await problem(request)));
    return;
  }
  const link = byId("download"), answer = request.response;
  if (link.href) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(answer);
  link.hidden = false;
  const [head, ...rows] = parse(await answer.slice(0, SHOWN).text());
  fillTable(byId("preview"), head, rows.slice(0, PREVIEW).map(shortened), head.map((_, place) => place).filter((place) => place !== 1));
  status(`Labeled ${inRows(await lines(answer) - 1)}.`);
}

async function problem(request) {
  const text = await request.response.text();
  try { return JSON.parse(text); } catch { return { status: request.status }; } // by a proxy
}

const shortened = (row) => row.map((cell, place) => (place === 1 ? Number(cell).toFixed(4) : cell.slice(0, 120)));

// The number of lines, except those within a cell, of a file of any size.
async function lines(answer) {
  const reader = answer.stream().getReader();
  let found = 0, quoted = false;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    for (const byte of part.value) {
      if (byte === 34) quoted = !quoted;
      else if (byte === 10 && !quoted) found += 1;
    }
  }
  return found;
}

const status = (text) => byId("upload-status").replaceChildren(element("span", {}, text));

function parse(text) {
  const rows = [[""]];
  let quoted = false;
  for (let place = 0; place < text.length; place += 1) {
    const sign = text[place], row = rows[rows.length - 1];
    if (quoted && sign === '"' && text[place + 1] === '"') { row[row.length - 1] += '"'; place += 1; }
    else if (sign === '"') quoted = !quoted;
    else if (sign === "," && !quoted) row.push("");
    else if (sign === "\n" && !quoted) rows.push([""]);
    else row[row.length - 1] += sign;
  }
  return rows.filter((row) => row.length > 1 || row[0] !== "");
}

// A CSV file to predictions: with a progress bar for what is sent, and the result to save.
import { headers } from "./api.js";
import { byId, counted, element, fillTable } from "./parts.js";

const PREVIEW = 10;

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
  // Not fetch: it cannot tell how much has been sent.
  const request = new XMLHttpRequest();
  byId("upload").hidden = false;
  byId("download").hidden = true;
  byId("preview").replaceChildren();
  byId("progress").value = 0;
  say(`Sending ${file.name}`);
  request.open("POST", "/v1/predict/csv");
  for (const [name, value] of Object.entries(headers({ "Content-Type": "text/csv" }))) request.setRequestHeader(name, value);
  request.responseType = "blob";
  request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) byId("progress").value = event.loaded / event.total; });
  request.addEventListener("error", () => say("The connection broke, or a row could not be read; nothing was saved."));
  request.addEventListener("load", () => arrived(request));
  request.send(file);
}

async function arrived(request) {
  byId("progress").value = 1;
  if (request.status !== 200) {
    const problem = JSON.parse(await request.response.text());
    say(problem.detail);
    return;
  }
  const link = byId("download");
  if (link.href) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(request.response);
  link.hidden = false;
  const rows = parse(await request.response.text());
  say(`${counted(rows.length - 1)} rows have a label now.`);
  fillTable(byId("preview"), rows[0], rows.slice(1, PREVIEW + 1).map((row) => row.map((cell) => cell.slice(0, 120))), [0, 2]);
}

const say = (text) => byId("upload-said").replaceChildren(element("span", {}, text));

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

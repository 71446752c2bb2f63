// Starts the page: loads the description of the model, then starts the modules of the parts.
import { get, keepToken } from "./api.js";
import * as card from "./card.js";
import * as feedback from "./feedback.js";
import * as files from "./files.js";
import { byId, notice } from "./parts.js";
import * as trying from "./try.js";
import * as words from "./words.js";

async function start() {
  let model, form;
  try { [model, form] = await Promise.all([get("/v1/model"), get("/v1/model/form")]); } catch (error) {
    notice(error.message, null, true);
    if (error.status === 401) byId("token-dialog").showModal();
    return;
  }
  document.title = `${model.file} – discern`;
  byId("title").textContent = "discern";
  trying.start(model, form, changed);
  files.start();
  card.start(model);
  words.start(model);
  feedback.start(model);
  document.body.dataset.ready = "yes";
}

async function changed() {
  const [model, form] = await Promise.all([get("/v1/model"), get("/v1/model/form")]);
  trying.setExamples(form.examples);
  card.show(model);
  words.setLabels(Object.keys(model.priors));
  words.show();
  feedback.show();
}

byId("token-open").addEventListener("click", () => byId("token-dialog").showModal());
byId("token-form").addEventListener("submit", () => {
  keepToken(byId("token").value.trim());
  location.reload();
});
start();

// The reference of the API, made from openapi.json, with a form that sends a request for each address.
import { get, headers, keepToken, send, token } from "./api.js";
import { byId, element, fillTable } from "./parts.js";

let schemas = {};

const resolved = (schema) => (schema && schema.$ref ? schemas[schema.$ref.split("/").pop()] : schema || {});
const named = (schema) => (schema && schema.$ref ? schema.$ref.split("/").pop() : typeOf(schema));

function typeOf(schema = {}) {
  const kinds = [schema.type || "any"].flat();
  return kinds.includes("array") && schema.items ? `list of ${named(schema.items)}` : kinds.join(" or ");
}

// A value that fits a schema, for the form.
function example(schema, depth = 0) {
  const own = resolved(schema), [kind] = [own.type || "object"].flat();
  if (own.default !== undefined) return own.default;
  if (depth > 4) return null;
  if (kind === "object") {
    const entries = Object.entries(own.properties || {}).map(([name, part]) => [name, example(part, depth + 1)]);
    return Object.fromEntries(entries);
  }
  if (kind === "array") return Array.from({ length: Math.min(own.minItems || 1, 8) }, () => example(own.items, depth + 1));
  if (kind === "string") return "text";
  return kind === "boolean" ? false : 1;
}

function parameters(operation) {
  const rows = (operation.parameters || []).map((one) =>
    [one.name, one.in, typeOf(one.schema), one.required ? "yes" : "no", one.description || ""]);
  if (!rows.length) return [];
  const table = element("table");
  fillTable(table, ["parameter", "in", "type", "required", "meaning"], rows, [0, 1, 2, 3, 4]);
  return [wide(table, "Parameters")];
}

function properties(title, schema) {
  const own = resolved(schema), entries = Object.entries(own.properties || {});
  if (!entries.length) return [];
  const table = element("table");
  fillTable(table, ["name", "type", "meaning"], entries.map(([name, part]) =>
    [name, named(part), resolved(part).description || ""]), [0, 1, 2]);
  return [element("h2", {}, `${title}: ${named(schema)}`), wide(table, title)];
}

const wide = (table, name) => element("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": name }, table);

function operation(path, method, about) {
  const body = about.requestBody ? Object.entries(about.requestBody.content) : [];
  const answers = Object.entries(about.responses["200"].content);
  const head = element("summary", {}, element("span", { className: `method ${method}` }, method.toUpperCase()), " ",
    element("code", {}, path), " ", element("span", { className: "soft" }, about.description || about.summary || ""));
  return element("details", { className: "operation", id: `${method}${path.replaceAll("/", "-")}` }, head,
    ...parameters(about),
    ...body.flatMap(([kind, one]) => (one.schema.$ref ? properties(`Body (${kind})`, one.schema) : [element("p", {}, element("b", {}, kind), ` ${one.schema.description || ""}`)])),
    ...answers.flatMap(([kind, one]) => (one.schema && one.schema.$ref ? properties(`Answer (${kind})`, one.schema) : [element("p", {}, "Answer: ", element("b", {}, kind))])),
    trial(path, method, about, body));
}

function trial(path, method, about, body) {
  const queries = (about.parameters || []).filter((one) => one.in === "query");
  const inputs = queries.map((one) => [one.name, element("input", { type: "text", placeholder: one.required ? "required" : "" })]);
  const [kind, content] = body.length ? body[0] : [null, null];
  const written = kind === null ? null : element("textarea", { rows: 5, spellcheck: false, "aria-label": `Body of ${path}` });
  if (written) written.value = kind === "application/json" ? JSON.stringify(example(content.schema), null, 1) : "";
  const answer = element("pre", { tabIndex: 0, hidden: true, "aria-label": `Answer of ${path}` });
  const run = async () => {
    const given = inputs.filter(([, input]) => input.value !== "").map(([name, input]) => [name, input.value]);
    const query = given.length ? `?${new URLSearchParams(given)}` : "";
    const options = { method: method.toUpperCase(), headers: headers(kind ? { "Content-Type": kind } : {}) };
    answer.hidden = false;
    try {
      const response = await send(path + query, written ? { ...options, body: written.value } : options);
      answer.textContent = `${response.status} ${response.statusText}\n\n${pretty(await response.text())}`;
    } catch (error) { answer.textContent = error.message; }
  };
  return element("div", { className: "trial" },
    ...inputs.map(([name, input]) => element("label", { className: "inline" }, name, input)), ...(written ? [written] : []),
    element("button", { type: "button", onclick: run }, `Send ${method.toUpperCase()}`), answer);
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 1); } catch { return text; }
}

async function start() {
  byId("token").value = token();
  byId("token-form").addEventListener("submit", (event) => event.preventDefault());
  byId("token").addEventListener("change", (event) => keepToken(event.target.value.trim()));
  const document_ = await get("/openapi.json");
  schemas = document_.components.schemas;
  byId("about").textContent = document_.info.description;
  const found = Object.entries(document_.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, about]) => operation(path, method, about)));
  byId("operations").replaceChildren(...found);
  document.body.dataset.ready = "yes";
}
start();

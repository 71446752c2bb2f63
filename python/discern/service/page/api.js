// Requests to the service: tokens, problem documents, and answers of a model that has learned the latest feedback.
import { inWords } from "./messages.js";

const TOKEN_KEY = "discern-token";
let after = 0;

export const token = () => sessionStorage.getItem(TOKEN_KEY) || "";
export function keepToken(value) {
  if (value) sessionStorage.setItem(TOKEN_KEY, value);
  else sessionStorage.removeItem(TOKEN_KEY);
}

export function headers(more = {}) {
  const shown = token() ? { Authorization: `Bearer ${token()}` } : {};
  return { ...shown, ...(after ? { "Discern-After": String(after) } : {}), ...more };
}

export class ProblemError extends Error {
  constructor(document) {
    super(inWords(document));
    this.status = document.status || 0;
  }
}

export async function refused(response) {
  let document = {};
  try { document = await response.json(); } catch { document = { status: response.status, detail: response.statusText }; }
  return new ProblemError(document);
}

// A connection that breaks is a problem like others.
export async function send(path, options) {
  try { return await fetch(path, options); } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ProblemError({ status: 0 });
  }
}

export async function get(path, signal) {
  const response = await send(path, { headers: headers(), signal });
  if (!response.ok) throw await refused(response);
  return response.headers.get("content-type").includes("json") ? response.json() : response.text();
}

export async function post(path, body, { signal, kind = "application/json", key } = {}) {
  const content = kind === "application/json" ? JSON.stringify(body) : body;
  const more = { "Content-Type": kind, ...(key ? { "Idempotency-Key": key } : {}) };
  const response = await send(path, { method: "POST", headers: headers(more), body: content, signal });
  if (!response.ok) throw await refused(response);
  return response.headers.get("content-type").includes("json") ? response.json() : response.text();
}

// Feedback is sent again with the same key if the connection broke: the service applies it once.
export async function teach(path, body) {
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  let receipt;
  try { receipt = await post(path, body, { key }); } catch (error) {
    if (error instanceof ProblemError && error.status !== 503 && error.status !== 0) throw error;
    await new Promise((resolve) => setTimeout(resolve, 300));
    receipt = await post(path, body, { key });
  }
  after = Math.max(after, receipt.sequence);
  return receipt;
}

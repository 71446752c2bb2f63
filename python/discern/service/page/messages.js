// Problems of the API in the words of this page: what is wrong, and what a visitor can do.
const KINDS = {
  token: "This service needs a token. Choose “Token…” above and paste yours.",
  rate: "Too many requests. Wait a few seconds, then try again.",
  "not-ready": "The service is busy or restarting. Try again in a moment.",
  "not-durable": "Your correction could not be saved. Nothing was changed. Try again.",
  "body-too-large": "This is more than the service accepts at once. Use a shorter text or a smaller file.",
  "too-many-rows": "These are more rows than the service accepts at once. Upload them as a CSV file.",
  "cannot-learn": "This model cannot be taught: it is not naive Bayes, or its file was saved without the counts.",
  "cross-site": "This page was opened from another site. Open the address of the service directly.",
  "unknown-host": "The service does not answer under this name. Its operator can add the name.",
  undone: "This correction has been undone already.",
  "too-slow": "The upload was too slow, and the service ended it. Try again on a faster connection.",
  internal: "The service had an internal error. Its log has the details.",
};

const sentence = (text) => {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`;
};

// "the row, column 'size': the value must be a number, or null" is about a field here.
function aboutField(detail) {
  const found = /^(?:the row|row (\d+)), column ['"](.*?)['"]: (.*?)(?:, or null)?$/s.exec(detail);
  if (!found) return detail;
  return `${found[1] && found[1] !== "1" ? `Row ${found[1]}, ` : ""}“${found[2]}”: ${found[3]}`;
}

export function inWords({ type = "", status = 0, detail = "" }) {
  if (!status) return "The service cannot be reached. Check that it is running, then try again.";
  const kind = type.split("#")[1];
  if (kind === "token" && status === 403) return "Your token is for reading only. Teaching needs the other token.";
  return KINDS[kind] || sentence(aboutField(detail) || `The service refused the request with status ${status}`);
}

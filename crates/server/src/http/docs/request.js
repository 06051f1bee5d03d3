"use strict";

// One operation as a command for the terminal, and sent from the page with a key. The key stays in this page's memory.

let key = "";

// The parts of a request: what the fields of the form say, or what stands for them.
function requestOf({ path, method, fields, body }) {
  const value = (field) => field.input.value || (field.in === "path" ? `{${field.name}}` : "");
  const filled = path.replace(/\{(\w+)\}/g, (whole, name) => {
    const field = fields.find((one) => one.in === "path" && one.name === name);
    return field?.input.value ? encodeURIComponent(field.input.value) : whole;
  });
  const query = new URLSearchParams(fields.filter((field) => field.in === "query" && value(field)).map((field) => [field.name, value(field)]));
  const headers = Object.fromEntries(fields.filter((field) => field.in === "header" && value(field)).map((field) => [field.name, value(field)]));
  const text = body?.input.value.trim() ? body.input.value : undefined;
  if (text) headers["Content-Type"] = body.type;
  const root = new URL(document.querySelector("script[src$='request.js']").src.replace(/docs\/request\.js$/, ""));
  const url = new URL(filled.slice(1), root);
  url.search = query;
  return { url: url.href.replaceAll("%7B", "{").replaceAll("%7D", "}"), method: method.toUpperCase(), headers, text };
}

// A word of a shell.
function quoted(text) {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function curlOf(request) {
  const parts = [`curl ${quoted(request.url)}`, `-H "Authorization: Bearer $SWITCHHOOK_API_KEY"`];
  // GET and, with a body, POST need no option.
  if (request.method !== (request.text ? "POST" : "GET")) parts[0] = `curl -X ${request.method} ${quoted(request.url)}`;
  for (const [name, value] of Object.entries(request.headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (request.text) parts.push(`--data-raw ${quoted(request.text)}`);
  return parts.join(" \\\n  ");
}

async function send(request, shown) {
  shown.textContent = "Waiting for the response.";
  const headers = { ...request.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  const began = performance.now();
  try {
    // A key alone, not the dashboard's session, decides what this may do.
    const options = { method: request.method, headers, body: request.text, credentials: "omit" };
    const response = await fetch(request.url, { ...options, signal: AbortSignal.timeout(30_000) });
    const type = response.headers.get("content-type") ?? "";
    const status = `${response.status} ${response.statusText}, ${Math.round(performance.now() - began)} ms`;
    if (/json/.test(type)) {
      const text = await response.text();
      // Formatted only where that changes no number.
      const same = text && JSON.stringify(JSON.parse(text)) === text;
      shown.textContent = `${status}\n\n${same ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
    } else {
      shown.textContent = `${status}\n\n${/^text\/(?!event-stream)/.test(type) ? await response.text() : type}`;
      await response.body?.cancel().catch(() => {});
    }
  } catch (error) {
    shown.textContent = `No response: ${error.message}`;
  }
}

// The part of an article with the command, the programs and the form. `example` is the body to begin with.
function tryIt(make, { path, method, parameters, body, example, entry, many }) {
  const label = (text, input) => make("label", {}, make("code", {}, text), input);
  const fields = parameters.map(({ name, in: where, required, schema }) => {
    const attributes = { autocomplete: "off", spellcheck: "false", ...(required || where === "path" ? { required: "" } : {}) };
    return { name, in: where, type: schema?.type, input: make("input", attributes) };
  });
  const text = body ? { type: body, input: make("textarea", { rows: "8", spellcheck: "false" }) } : null;
  if (text && example !== undefined) text.input.value = JSON.stringify(example, null, 2);
  const command = make("pre", { class: "curl" });
  const answer = make("pre", { class: "answer", role: "status", hidden: "" });
  const current = () => requestOf({ path, method, fields, body: text });
  const clients = ["Python", "TypeScript"].map((language) => {
    const program = make("pre", { class: language.toLowerCase() });
    return { language, program, details: make("details", {}, make("summary", {}, language), program) };
  });
  const renew = () => {
    command.textContent = curlOf(current());
    const written = programs(entry, many, { path, fields, body: text });
    if (written) for (const { language, program } of clients) program.textContent = written[language];
  };
  const form = make("form", {},
    ...fields.map((field) => label(field.name, field.input)),
    text ? label("body", text.input) : null,
    make("button", {}, "Send"));
  form.addEventListener("input", renew);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    answer.hidden = false;
    if (!key) answer.textContent = "Enter an API key at the top of the page first.";
    else void send(current(), answer);
  });
  const details = make("details", {}, make("summary", {}, "Try it"), form, answer);
  renew();
  return [make("h4", {}, "Command"), command, ...(entry ? clients.map((one) => one.details) : []), details];
}

document.getElementById("key")?.addEventListener("input", (event) => (key = event.target.value.trim()));

"use strict";

// An element with attributes and children; text is always text, so nothing in the document can become markup.
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Markdown as far as descriptions use it: paragraphs and `code`.
function inline(text) {
  return (text ?? "").split("`").map((part, index) => (index % 2 ? make("code", {}, part) : part));
}

function prose(text) {
  const paragraphs = (text ?? "").split(/\n\n+/).map((paragraph) => make("p", {}, ...inline(paragraph)));
  const fragment = document.createDocumentFragment();
  fragment.append(...paragraphs);
  return fragment;
}

function resolve(api, schema) {
  let seen = 0;
  while (schema?.$ref && seen++ < 10) {
    const path = schema.$ref.slice(2).split("/");
    const found = path.reduce((at, name) => at?.[name], api);
    schema = { ...found, description: schema.description ?? found?.description };
  }
  return schema ?? {};
}

// What operations share: a response, a header, a parameter.
function referred(api, part) {
  return part.$ref ? part.$ref.slice(2).split("/").reduce((at, name) => at?.[name], api) : part;
}

// What a field is, in its own words or in those of the schema that it refers to.
function description(api, field) {
  return [field, ...(field.oneOf ?? [])].map((one) => resolve(api, one).description).find((words) => words);
}

// What a value may be, in a few words.
function kind(api, schema) {
  const name = schema?.$ref?.split("/").pop();
  const found = resolve(api, schema);
  if (found.enum) return found.enum.map((word) => JSON.stringify(word)).join(" | ");
  const any = found.oneOf ?? found.anyOf;
  if (any) return any.map((one) => kind(api, one)).join(" | ");
  if (name) return name;
  const types = [].concat(found.type ?? "any");
  const words = [types.map((type) => (type === "array" ? `array of ${kind(api, found.items ?? {})}` : type)).join(" | ")];
  if (found.format) words.push(found.format);
  if (found.minimum !== undefined || found.maximum !== undefined) {
    words.push(`${found.minimum ?? ""} to ${found.maximum ?? ""}`);
  }
  if (found.maxLength !== undefined) words.push(`at most ${found.maxLength} characters`);
  if (found.default !== undefined) words.push(`default ${JSON.stringify(found.default)}`);
  return words.join(", ");
}

// All properties of a schema, those of its parts too.
function fields(api, schema) {
  const found = resolve(api, schema);
  const parts = (found.allOf ?? []).map((part) => fields(api, part));
  const required = new Set([...(found.required ?? []), ...parts.flatMap((part) => [...part.required])]);
  const properties = Object.assign({}, ...parts.map((part) => part.properties), found.properties);
  return { properties, required };
}

function row(name, type, description, required) {
  return make("tr", {},
    make("td", {}, make("code", {}, name), required ? make("span", { class: "quiet" }, " required") : null),
    make("td", { class: "quiet" }, type),
    make("td", {}, ...inline(description)));
}

function fieldTable(api, schema, depth = 0) {
  const { properties, required } = fields(api, schema);
  const names = Object.keys(properties);
  if (names.length === 0) return null;
  const table = make("table", {});
  const nested = document.createDocumentFragment();
  for (const name of names) {
    const property = properties[name];
    const found = resolve(api, property);
    table.append(row(name, kind(api, property), description(api, property), required.has(name)));
    const inner = [property, found.items, ...(found.oneOf ?? [])].find((one) => one && Object.keys(fields(api, one).properties).length);
    if (inner && depth < 3) {
      nested.append(make("details", {}, make("summary", {}, make("code", {}, name)), fieldTable(api, inner, depth + 1) ?? ""));
    }
  }
  const all = document.createDocumentFragment();
  all.append(table, nested);
  return all;
}

// The example of a schema: its own, or one made of its parts.
function exampleOf(api, schema, depth = 0) {
  const found = resolve(api, schema);
  const own = found.example ?? found.default;
  if (own !== undefined || depth > 8) return own;
  if (found.allOf) {
    const parts = found.allOf.map((part) => exampleOf(api, part, depth + 1));
    return parts.length === 1 ? parts[0] : Object.assign({}, ...parts);
  }
  const any = found.oneOf ?? found.anyOf;
  if (any) return any.some((one) => one.type === "null") ? null : exampleOf(api, any[0], depth + 1);
  if (found.enum ?? found.const) return found.enum?.[0] ?? found.const;
  const types = [found.type].flat();
  if (types.includes("null")) return null;
  return exampleOfType(api, types[0], found, depth);
}

function exampleOfType(api, type, found, depth) {
  switch (type) {
    case "object": {
      const fields = Object.entries(found.properties ?? {}).filter(([name]) => name !== "warnings");
      return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(api, field, depth + 1)]));
    }
    case "array":
      return found.items ? [exampleOf(api, found.items, depth + 1)] : [];
    case "string":
      return { uuid: "0198c6a0-0000-7000-8000-000000000000", "date-time": "2026-01-31T12:00:00.000000Z" }[found.format] ?? "text";
    case "boolean":
      return false;
    case "integer":
    case "number":
      return found.minimum ?? 0;
    default:
      return undefined;
  }
}

function contents(api, content) {
  const all = document.createDocumentFragment();
  for (const [type, { schema, example = exampleOf(api, schema) }] of Object.entries(content ?? {})) {
    all.append(make("p", { class: "quiet" }, type));
    if (example !== undefined) all.append(make("pre", {}, JSON.stringify(example, null, 2)));
    const table = fieldTable(api, schema);
    if (table) all.append(make("details", {}, make("summary", {}, "Fields"), table));
  }
  return all;
}

function responses(api, operation) {
  return Object.entries(operation.responses).map(([status, shared]) => {
    const response = referred(api, shared);
    const headers = Object.entries(response.headers ?? {}).map(([name, header]) => [name, referred(api, header)]);
    const table = make("table", {}, ...headers.map(([name, header]) => row(name, kind(api, header.schema), header.description)));
    return make("details", {},
      make("summary", {}, make("strong", {}, status), " ", ...inline(response.description)),
      contents(api, response.content),
      headers.length ? make("details", {}, make("summary", {}, "Headers"), table) : null);
  });
}

// The body to begin with: the document's example, or the required fields.
function firstBody(api, [, { schema, example }]) {
  if (example !== undefined || resolve(api, schema).example !== undefined) return example ?? resolve(api, schema).example;
  const { properties, required } = fields(api, schema);
  return Object.fromEntries(Object.keys(properties).filter((name) => required.has(name)).map((name) => [name, exampleOf(api, properties[name])]));
}

function requestParts(api, path, method, operation, parameters, entry) {
  const body = Object.entries(operation.requestBody?.content ?? {})[0];
  const example = body && firstBody(api, body);
  const answer = operation.responses["200"]?.content?.["application/json"]?.schema;
  const many = Boolean(entry?.stream ?? (answer && fields(api, answer).properties.next_cursor));
  return tryIt(make, { path, method, parameters, body: body?.[0], example, entry, many });
}

function article(api, path, method, operation, entry) {
  const all = (operation.parameters ?? []).map((shared) => referred(api, shared));
  const parameters = all.map((parameter) =>
    row(parameter.name, `${parameter.in}: ${kind(api, parameter.schema)}`, parameter.description, parameter.required));
  return make("article", { id: operation.operationId },
    make("h3", {}, ...inline(operation.summary ?? operation.operationId)),
    make("p", {}, make("span", { class: "method" }, method), " ", make("code", {}, path)),
    prose(operation.description),
    parameters.length ? make("h4", {}, "Parameters") : null,
    parameters.length ? make("table", {}, ...parameters) : null,
    operation.requestBody ? make("h4", {}, "Body") : null,
    operation.requestBody ? contents(api, operation.requestBody.content) : null,
    ...requestParts(api, path, method, operation, all, entry),
    make("h4", {}, "Responses"),
    ...responses(api, operation));
}

function show(api, clients) {
  const main = document.getElementById("operations");
  const nav = document.getElementById("contents");
  const entries = [];
  main.replaceChildren(prose(api.info.description));
  for (const tag of api.tags) {
    const heading = make("h2", {}, tag.name);
    const section = make("section", {}, make("h2", {}, tag.name), prose(tag.description));
    const group = make("div", {}, heading);
    for (const [path, methods] of Object.entries(api.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        if (operation.tags?.[0] !== tag.name) continue;
        const shown = article(api, path, method, operation, clients[operation.operationId]);
        const link = make("a", { href: `#${operation.operationId}` }, ...inline(operation.summary ?? operation.operationId));
        section.append(shown);
        group.append(link);
        entries.push({ text: `${method} ${path} ${operation.summary} ${operation.operationId}`.toLowerCase(), shown, link });
      }
    }
    main.append(section);
    nav.append(group);
  }
  document.getElementById("find").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/);
    for (const { text, shown, link } of entries) {
      shown.hidden = link.hidden = !words.every((word) => text.includes(word));
    }
  });
  // The address may name an operation that was not there until now.
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

function load(path) {
  return fetch(new URL(path, document.querySelector("script[src$='docs.js']").src))
    .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`status ${answer.status}`))));
}

Promise.all([load("../openapi.json"), load("clients.json")])
  .then(([api, clients]) => show(api, clients))
  .catch((error) => {
    document.getElementById("operations").textContent = `The description of the API could not be loaded: ${error.message}`;
  });

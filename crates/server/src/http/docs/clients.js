"use strict";

// An operation as a program of the clients for Python and TypeScript, whose methods are named by clients/operations.json.

const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

// A value of JSON as Python writes it.
function python(value, indent = "    ") {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const parts = Array.isArray(value)
    ? value.map((one) => python(one, inner))
    : Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${python(one, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const line = open + parts.join(", ") + close;
  return line.length < 80 ? line : `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
}

// What the form says: ids in the order of the path, and a body or a query.
function argumentsOf({ path, fields, body }) {
  const ids = [...path.matchAll(/\{(\w+)\}/g)].map(([whole, name]) => {
    const field = fields.find((one) => one.in === "path" && one.name === name);
    const text = field?.input.value || whole;
    return field?.type === "integer" && /^\d+$/.test(text) ? Number(text) : text;
  });
  const typed = ({ type, input }) => (type === "integer" && /^-?\d+$/.test(input.value) ? Number(input.value) : input.value);
  const query = Object.fromEntries(fields.filter((one) => one.in === "query" && one.input.value).map((one) => [one.name, typed(one)]));
  let parsed = query;
  try {
    if (body?.input.value.trim()) parsed = JSON.parse(body.input.value);
  } catch {
    return null; // The reader is in the middle of a change.
  }
  return { ids, options: parsed };
}

// `entry` is the operation's in clients/operations.json; `many` says that its result is a sequence.
function programs(entry, many, form) {
  const given = argumentsOf(form);
  const method = entry?.method ?? entry?.stream;
  if (!given || !method) return null;
  const [resource, name] = method.split(".");
  const named = Object.entries(given.options).map(([key, value]) => `${key === "from" ? "from_" : key}=${python(value, "        ")}`);
  const inPython = [...given.ids.map((id) => python(id)), ...named];
  const oneLine = inPython.join(", ");
  const list = oneLine.length < 80 ? oneLine : `\n${inPython.map((part) => `        ${part},\n`).join("")}    `;
  const call = `client.${resource}.${name}(${list})`;
  const options = Object.keys(given.options).length ? [JSON.stringify(given.options, null, 2)] : [];
  const called = `client.${camel(resource)}.${camel(name)}(${[...given.ids.map((id) => JSON.stringify(id)), ...options].join(", ")})`;
  return {
    Python: `from switchhook import Switchhook\n\nwith Switchhook() as client:\n    ${many ? `for one in ${call}:\n        print(one)` : `print(${call})`}`,
    TypeScript: `import { Switchhook } from "@switchhook/client";\n\nconst client = new Switchhook();\n${
      many ? `for await (const one of ${called}) console.log(one);` : `console.log(await ${called});`}`,
  };
}

// Writes what follows from docs/openapi.json: src/schema.ts, src/types.ts and src/resources.ts. Run it after the document has changed.
//
//   node generate.mjs [--check]
//
// --check writes nothing and exits with 1 if a file is stale. Names of methods are in ../operations.json, which both clients share.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const HEADER = "// Written by generate.mjs from docs/openapi.json: do not edit.\n\n";
const here = new URL(".", import.meta.url);
const read = async (path) => JSON.parse(await readFile(new URL(path, here), "utf8"));
const spec = resolved(await read("../../docs/openapi.json"));
const names = await read("../operations.json");
const schemas = spec.components.schemas;

/** The document with what operations share in its place; only schemas stay references. */
function resolved(document) {
  const { schemas, securitySchemes, ...shared } = document.components;
  const resolve = (part) => {
    if (Array.isArray(part)) return part.map(resolve);
    if (part === null || typeof part !== "object") return part;
    const [kind, name] = (part.$ref ?? "").replace("#/components/", "").split("/");
    if (shared[kind]) return resolve(shared[kind][name]);
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, resolve(value)]));
  };
  return { ...document, paths: resolve(document.paths), components: { schemas, securitySchemes } };
}

/** A set of words may grow: editors propose what is known, any other string is accepted. */
function open(schema) {
  const words = schema.enum ?? schema["x-extensible-enum"];
  if (schema.type !== "string" || !words) return undefined;
  const { factory } = ts;
  const literals = words.map((value) => factory.createLiteralTypeNode(factory.createStringLiteral(value)));
  const any = [factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword), factory.createTypeLiteralNode([])];
  return factory.createUnionTypeNode([...literals, factory.createIntersectionTypeNode(any)]);
}

/** What the types need of the document: its schemas and the parameters. Methods know their answers. */
function trimmed() {
  const copy = structuredClone(spec);
  for (const methods of Object.values(copy.paths)) for (const operation of Object.values(methods)) operation.responses = {};
  return copy;
}

/** `CallWithWarnings` -> `Call`. */
const nameOf = (schema) => schema.replace(/WithWarnings$/, "");
const isPage = (schema) => ["data", "has_more", "next_cursor"].every((name) => schemas[schema].properties?.[name]);
const itemOf = (page) => reference({ schema: schemas[page].properties.data.items });

function types() {
  const lines = Object.keys(schemas)
    .filter((name) => !name.endsWith("WithWarnings") && !isPage(name) && !["ErrorBody", "ErrorField"].includes(name))
    .map((name) => {
      const text = (schemas[name].description ?? "").split("\n").join("\n * ");
      const type = schemas[`${name}WithWarnings`] ? `Written<Schemas["${name}"]>` : `Schemas["${name}"]`;
      return `${text && `/** ${text} */\n`}export type ${nameOf(name)} = ${type};\n`;
    });
  return `${HEADER}import type { Written } from "./shapes.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

${lines.join("")}`;
}

const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const className = (name) => camel(`_${name}`);
const reference = (content) => content?.schema.$ref?.split("/").pop();

function operations() {
  const found = {};
  for (const [path, methods] of Object.entries(spec.paths))
    for (const [method, schema] of Object.entries(methods)) found[schema.operationId] = { method: method.toUpperCase(), path, schema };
  const unnamed = Object.keys(found).filter((id) => !names[id]);
  const gone = Object.keys(names).filter((id) => !found[id]);
  if (unnamed.length) throw new Error(`clients/operations.json has no name for ${unnamed.join(", ")}.`);
  if (gone.length) throw new Error(`clients/operations.json names what the API does not have: ${gone.join(", ")}.`);
  return Object.keys(names).map((id) => ({ id, ...found[id], entry: names[id] }));
}

/** What it answers: a page, a model, bytes or nothing. Where there are 200 and 201, the 200 is a dry run's. */
function answer({ schema }, statuses = ["201", "200", "202"]) {
  for (const status of statuses) {
    const content = schema.responses[status]?.content;
    const name = reference(content?.["application/json"]);
    if (name) return isPage(name) ? ["page", `types.${nameOf(itemOf(name))}`] : ["model", `types.${nameOf(name)}`];
    if (content) return ["bytes", "ArrayBuffer"];
  }
  return ["none", "void"];
}

const parameters = (operation, place) => (operation.schema.parameters ?? []).filter((one) => one.in === place);
const positional = (operation) => parameters(operation, "path").map((one) => `${camel(one.name)}: ${one.schema.type === "integer" ? "number" : "string"}`);
const filled = (operation) => {
  const path = operation.path.replace(/{(\w+)}/g, (_, name) => `\${segment(${camel(name)})}`);
  return path.includes("$") ? `\`${path}\`` : `"${path}"`;
};

function comment(...parts) {
  const lines = parts.filter(Boolean).join("\n\n").split("\n");
  if (lines.length === 1) return `  /** ${lines[0]} */\n`;
  return `  /**\n${lines.map((line) => `   * ${line}`.trimEnd()).join("\n")}\n   */\n`;
}

function method(operation) {
  const { id, schema, entry } = operation;
  const [kind, type] = answer(operation);
  const headers = parameters(operation, "header").map((one) => one.name);
  const body = reference(schema.requestBody?.content["application/json"]);
  const query = parameters(operation, "query").length > 0;
  const request = [`method: "${operation.method}"`, `path: ${filled(operation)}`];
  const args = positional(operation);
  let options = "RequestOptions";
  if (body) args.push(schema.requestBody.required ? `body: types.${nameOf(body)}` : `body: types.${nameOf(body)} = {}`), request.push("body");
  if (query) args.push(`query: Query<"${id}"> = {}`), request.push("query");
  if (headers.includes("Idempotency-Key")) {
    options = "RequestOptions & { idempotencyKey?: string }";
    request.push("idempotencyKey: options.idempotencyKey ?? newKey()");
  }
  if (headers.includes("Range")) {
    options = "RequestOptions & { range?: string }";
    request.push('headers: { Accept: "audio/wav", ...(options.range === undefined ? {} : { Range: options.range }) }');
  }
  if (entry.repeatable) request.push("repeatable: true");
  args.push(`options: ${options} = {}`);
  const call = { page: `this.fetchPages<${type}>`, model: `this.fetchJson<${type}>`, bytes: "this.fetchBytes", none: "this.fetchNothing" }[kind];
  const result = kind === "page" ? `Pages<${type}>` : `Promise<${type}>`;
  return `${comment(`${schema.summary}.`, schema.description)}  ${camel(entry.method.split(".")[1])}(${args.join(", ")}): ${result} {
    return ${call}({ ${request.join(", ")} }, options);
  }\n`;
}

function dryRun(operation) {
  const [, type] = answer(operation, ["200"]);
  const body = reference(operation.schema.requestBody.content["application/json"]);
  return `${comment("Checks what the other method would do, and does nothing.")}  ${camel(operation.entry.dry_run.split(".")[1])}(body: types.${nameOf(body)}, options: RequestOptions = {}): Promise<${type}> {
    return this.fetchJson<${type}>({ method: "${operation.method}", path: ${filled(operation)}, body: { ...body, dry_run: true }, repeatable: true }, options);
  }\n`;
}

function stream(operation) {
  const { entry, schema } = operation;
  const type = entry.event === "TranscriptEvent" ? "TranscriptEvent" : `types.${entry.event}`;
  const args = [...positional(operation), "options: StreamOptions = {}"].join(", ");
  const ends = entry.last.length ? "Ends with the call." : "Never ends by itself.";
  const parse = entry.event === "TranscriptEvent" ? "transcriptEvent" : `(event) => event.json<${type}>()`;
  return `${comment(`${schema.summary}.`, `Follows them across reconnects. ${ends}`, schema.description)}  ${camel(entry.stream.split(".")[1])}(${args}): AsyncGenerator<${type}, void, undefined> {
    return this.follow({ method: "GET", path: ${filled(operation)} }, ${JSON.stringify(entry.last)}, ${parse}, options);
  }\n`;
}

function resources() {
  const all = operations();
  let text = `${HEADER}import { newKey, segment } from "./request.js";
import type { Query, RequestOptions, StreamOptions } from "./shapes.js";
import type { Pages } from "./pages.js";
import { Resource } from "./transport.js";
import { transcriptEvent, type TranscriptEvent } from "./events.js";
import type * as types from "./types.js";
`;
  const resourceOf = ({ entry }) => (entry.method ?? entry.stream).split(".")[0];
  for (const resource of new Set(all.map(resourceOf))) {
    const own = all.filter((one) => resourceOf(one) === resource);
    const methods = own.flatMap((one) => [one.entry.stream ? stream(one) : method(one), ...(one.entry.dry_run ? [dryRun(one)] : [])]);
    text += `\nexport class ${className(resource)} extends Resource {\n${methods.join("\n")}}\n`;
  }
  return text;
}

const files = {
  "src/schema.ts": HEADER + astToString(await openapiTS(trimmed(), { defaultNonNullable: false, emptyObjectsUnknown: true, transform: open })),
  "src/types.ts": types(),
  "src/resources.ts": resources(),
};
let stale = false;
for (const [name, text] of Object.entries(files)) {
  const path = new URL(name, here);
  if (!process.argv.includes("--check")) await writeFile(path, text);
  else if ((await readFile(path, "utf8")) !== text) {
    stale = true;
    console.error(`clients/typescript/${name} is stale: npm run generate`);
  }
}
process.exit(stale ? 1 : 0);

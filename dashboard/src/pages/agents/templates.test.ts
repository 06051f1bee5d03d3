import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { variablesIn } from "./draft";
import { BLANK, DEFAULTS, draftOf, templateNamed, TEMPLATES } from "./templates";

interface Schema {
  $ref?: string;
  default?: unknown;
  properties?: Record<string, Schema>;
}

const openapi = JSON.parse(readFileSync(new URL("../../../../docs/openapi.json", import.meta.url), "utf8")) as {
  components: { schemas: Record<string, Schema> };
};
const schemas = openapi.components.schemas;

function named(schema: Schema | undefined): Schema {
  const name = schema?.$ref?.split("/").at(-1);
  return (name ? schemas[name] : schema) ?? {};
}

const fields = Object.entries(DEFAULTS).flatMap(([object, value]) =>
  Object.entries(value as object).map(([field, standard]) => [object, field, standard] as const),
);

test.each(fields)("%s.%s defaults to %j, as the API has it", (object, field, standard) => {
  const schema = named(schemas.AgentConfig?.properties?.[object]).properties?.[field];
  // The description gives no default for a choice between words: there the first one is meant.
  if (schema && "default" in schema) expect(schema.default).toBe(standard);
  else expect(schema).toBeDefined();
});

test("every file is a template, in its place", () => {
  const files = readdirSync(new URL("../../../../templates", import.meta.url)).map((file) => file.replace(".yaml", ""));
  expect(TEMPLATES.map(({ id }) => id).sort()).toEqual(files.sort());
});

test("every template names the variables that its texts use, so that it works at once", () => {
  for (const { id, config } of TEMPLATES) {
    const texts = JSON.stringify(config).replace(JSON.stringify(config.variables) ?? "", "");
    expect(Object.keys((config.variables as object | undefined) ?? {}).sort(), id).toEqual(variablesIn(texts).sort());
  }
});

test("a template stands over the defaults, part by part", () => {
  const draft = draftOf(templateNamed("reminder"));
  expect(draft.answering_machine).toMatchObject({ mode: "detect", on_machine: "leave_message" });
  expect(draft.limits).toEqual(DEFAULTS.limits);
  expect(draft.analysis).toMatchObject({ summary: true });
  expect(draft.variables).toMatchObject({ name: { required: false, default: "there" } });
  expect(templateNamed("nonsense")).toBe(BLANK);
});

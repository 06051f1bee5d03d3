import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LIMITS, numberProblem } from "./limits";

interface Schema {
  $ref?: string;
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  minimum?: number;
  maximum?: number;
}

const openapi = JSON.parse(readFileSync(new URL("../../../../docs/openapi.json", import.meta.url), "utf8")) as {
  components: { schemas: Record<string, Schema> };
};

function resolved(schema: Schema | undefined): Schema {
  const inner = schema?.items ?? schema?.oneOf?.find((candidate) => candidate.$ref) ?? schema;
  const name = inner?.$ref?.split("/").at(-1);
  return (name ? openapi.components.schemas[name] : inner) ?? {};
}

/** The schema of a property; of a union, that of the first alternative which has it. */
function property(schema: Schema, key: string): Schema | undefined {
  const alternatives = [schema, ...(schema.oneOf ?? []).map(resolved)];
  return alternatives.find(({ properties }) => properties?.[key])?.properties?.[key];
}

function schemaAt(path: string): Schema {
  return path
    .split(".")
    .reduce((schema, key) => resolved(property(schema, key)), openapi.components.schemas.CreateAgent ?? {});
}

test.each(Object.entries(LIMITS))("%s has the range of the API", (path, [minimum, maximum]) => {
  const schema = schemaAt(path);
  expect([schema.minimum, schema.maximum]).toEqual([minimum, maximum]);
});

test("a number outside its range is named while one types", () => {
  expect(numberProblem("tts.speed", "2.5")).toBe("Must be between 0.5 and 2.");
  expect(numberProblem("tts.speed", "1.2")).toBeUndefined();
  expect(numberProblem("tools.3.timeout_seconds", "11")).toBe("Must be between 1 and 10.");
  expect(numberProblem("limits.max_duration_seconds", "20000")).toBe("Must be between 10 and 14,400.");
  expect(numberProblem("interruption.min_words", "1.5")).toBe("Must be a whole number.");
  expect(numberProblem("interruption.min_words", "two")).toBe("Must be a number.");
  expect(numberProblem("interruption.min_words", " ")).toBeUndefined();
});

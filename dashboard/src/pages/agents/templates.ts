/** Agents to start from: the files in `templates/`, which `switchhook apply` takes, too. Each works at once with the built-in models. */

import files from "virtual:agent-templates";
import { isObject, type JsonObject } from "./draft";

export interface Template {
  /** Also its part of the address: `/agents/new?template=reception`. */
  id: string;
  title: string;
  /** What it does, in a sentence. */
  description: string;
  config: JsonObject;
}

/** Their order on the page: who calls us, then whom we call. */
const ORDER = [
  "reception",
  "appointments",
  "restaurant",
  "support",
  "after-hours",
  "reminder",
  "delivery",
  "survey",
  "leads",
  "invoice",
];

export const TEMPLATES: Template[] = ORDER.flatMap((id) => files.find((template) => template.id === id) ?? []);

/** An agent from nothing. */
export const BLANK: Template = {
  id: "blank",
  title: "Blank",
  description: "Two fields are enough: a name and instructions.",
  config: { name: "", instructions: "" },
};

/** The template of this id; the blank one where there is none. */
export function templateNamed(id: string | null): Template {
  return TEMPLATES.find((template) => template.id === id) ?? BLANK;
}

/**
 * What the API fills in, so that a new agent's switches stand where they will be. What depends on the language, such as
 * the greeting, is left to the API. A test compares these with `docs/openapi.json`.
 */
export const DEFAULTS: JsonObject = {
  greeting: { mode: "speak", interruptible: true },
  turn_taking: { eagerness: "normal", min_silence_ms: 400, max_silence_ms: 2000, speculative: true },
  interruption: { enabled: true, min_speech_ms: 500, min_words: 2 },
  silence: { reprompt_after_seconds: 8, max_reprompts: 2, hangup_after_seconds: 30 },
  limits: { max_duration_seconds: 1800, ring_timeout_seconds: 30 },
  answering_machine: { mode: "off", on_machine: "hangup" },
  dtmf: { enabled: true, finish_on_key: "#", digit_timeout_ms: 2000, max_digits: 32, interrupt: true },
  analysis: { summary: true },
  recording: { enabled: false },
};

/** A new agent's draft: the template over the defaults. */
export function draftOf(template: Template): JsonObject {
  const draft = { ...DEFAULTS };
  for (const [key, value] of Object.entries(template.config)) {
    const standard = DEFAULTS[key];
    draft[key] = isObject(standard) && isObject(value) ? { ...standard, ...value } : value;
  }
  if (isObject(draft.variables)) draft.variables = withStandards(draft.variables);
  return draft;
}

/** Variables with what the API fills in. */
function withStandards(variables: JsonObject): JsonObject {
  const standard = { required: false };
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, isObject(value) ? { ...standard, ...value } : value]),
  );
}

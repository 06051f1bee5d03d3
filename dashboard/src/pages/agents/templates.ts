/** Agents to start from. Each works at once with the built-in models. */

import { isObject, type JsonObject } from "./draft";

export interface Template {
  /** Also its part of the address: `/agents/new?template=reception`. */
  id: string;
  title: string;
  /** What it does, in a sentence. */
  description: string;
  config: JsonObject;
}

export const TEMPLATES: Template[] = [
  {
    id: "reception",
    title: "Reception",
    description: "Answers calls, answers common questions, and takes a message.",
    config: {
      name: "Reception",
      instructions: [
        "You answer the phone of {{company}}. Be warm and brief: one or two sentences at a time.",
        "Find out why the person is calling. Answer what you know; never invent an answer.",
        "If you cannot help, take a message: their name, a number to call back, and what it is about.",
        "Read the message back before you say goodbye.",
        "",
        "Open Monday to Friday, 9 to 17.",
      ].join("\n"),
      greeting: { mode: "speak", text: "Hello, this is {{company}}. How can I help you?", interruptible: true },
      variables: { company: { required: false, default: "our office" } },
      analysis: {
        summary: true,
        schema: {
          type: "object",
          properties: {
            name: { type: "string", description: "The caller's name" },
            callback_number: { type: "string", description: "Number to call back" },
            message: { type: "string", description: "What it is about" },
          },
        },
      },
    },
  },
  {
    id: "appointments",
    title: "Appointments",
    description: "Books, moves and cancels appointments, one question at a time.",
    config: {
      name: "Appointments",
      instructions: [
        "You book appointments by phone. Ask for one thing at a time, in this order:",
        "the name, what the appointment is for, the day, and the time.",
        "Appointments are on weekdays from 9 to 17 and take half an hour.",
        "Before you book, read everything back and wait for a yes.",
        "If the person wants to move or cancel an appointment, ask for the name and the old time first.",
      ].join("\n"),
      greeting: { mode: "speak", text: "Hello! Would you like to book an appointment?", interruptible: true },
      analysis: {
        summary: true,
        schema: {
          type: "object",
          properties: {
            name: { type: "string" },
            reason: { type: "string" },
            day: { type: "string" },
            time: { type: "string" },
            confirmed: { type: "boolean" },
          },
        },
      },
    },
  },
  {
    id: "reminder",
    title: "Reminder call",
    description: "Calls people about an appointment and asks whether they will come.",
    config: {
      name: "Reminder",
      instructions: [
        "You call {{name}} to remind them of their appointment: {{appointment}}.",
        "Ask whether they will come. If not, ask whether they want another time, and note what suits them.",
        "Be polite and quick. If they are busy, say goodbye at once.",
      ].join("\n"),
      greeting: {
        mode: "speak",
        text: "Hello {{name}}, I am calling about your appointment: {{appointment}}. Will you be there?",
        interruptible: true,
      },
      variables: {
        name: { required: false, default: "there" },
        appointment: { required: false, default: "tomorrow at ten" },
      },
      answering_machine: {
        mode: "detect",
        on_machine: "leave_message",
        message: "Hello {{name}}, this is a reminder of your appointment: {{appointment}}. Goodbye.",
      },
      analysis: {
        summary: true,
        schema: {
          type: "object",
          properties: { will_come: { type: "boolean" }, other_time: { type: "string" } },
        },
      },
    },
  },
  {
    id: "survey",
    title: "Survey",
    description: "Asks three short questions and collects the answers as data.",
    config: {
      name: "Survey",
      instructions: [
        "You ask customers three questions, one after the other:",
        "1. How satisfied are you, from 1 to 10?",
        "2. What should we do better?",
        "3. May we call you back about it?",
        "Do not argue and do not sell. Thank the person after each answer, and say goodbye after the last.",
      ].join("\n"),
      greeting: {
        mode: "speak",
        text: "Hello! Do you have a minute for three short questions?",
        interruptible: true,
      },
      analysis: {
        summary: true,
        schema: {
          type: "object",
          properties: {
            satisfaction: { type: "integer", minimum: 1, maximum: 10 },
            improvement: { type: "string" },
            callback: { type: "boolean" },
          },
        },
      },
    },
  },
];

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
  return draft;
}

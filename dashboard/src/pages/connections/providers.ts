/** What each carrier and provider needs, and where to find it. Field names are the API's. */

import type { components } from "../../api/schema";

export type Provider = components["schemas"]["ProviderName"];
export type Kind = components["schemas"]["ConnectionKind"];

export interface ProviderField {
  /** Its path in the body: `credentials.auth_token`, `settings.space`. */
  path: `credentials.${string}` | `settings.${string}`;
  label: string;
  /** Where to find it, or what it is for. */
  hint: string;
  placeholder?: string;
  required?: boolean;
  /** Choices, where there are only a few. */
  options?: string[];
}

export interface ProviderInfo {
  name: Provider;
  title: string;
  /** What it is for, in a few words. */
  summary: string;
  group: "Phone carriers" | "Speech and language" | "More";
  /** The steps that lead to the credentials. */
  where: string;
  /** The page that they start from. */
  link?: string;
  fields: ProviderField[];
  /** Fields that few people need. */
  more?: ProviderField[];
  /** Connections can be stored, but this version cannot call with them. */
  planned?: boolean;
}

const API_KEY: ProviderField = {
  path: "credentials.api_key",
  label: "API key",
  hint: "Create one for Switchhook alone, so that you can revoke it alone.",
  required: true,
};

const BASE_URL: ProviderField = {
  path: "settings.base_url",
  label: "Base URL",
  hint: "Another region, a proxy, or your own server with the same protocol.",
  placeholder: "https://",
};

const MODEL: ProviderField = {
  path: "settings.model",
  label: "Model",
  hint: "Used by agents that name no model.",
};

const STT_MODEL: ProviderField = {
  path: "settings.stt_model",
  label: "Speech-to-text model",
  hint: "Used by agents that name no model.",
};

const TTS_VOICE: ProviderField = {
  path: "settings.tts_voice",
  label: "Voice",
  hint: "Used by agents that name no voice.",
};

export const PROVIDERS: ProviderInfo[] = [
  {
    name: "twilio",
    title: "Twilio",
    summary: "Phone calls",
    group: "Phone carriers",
    where:
      "On the start page of the Twilio console, under Account Info. The auth token stands behind “Show”. Trial accounts call verified numbers only.",
    link: "https://console.twilio.com",
    fields: [
      {
        path: "credentials.account_sid",
        label: "Account SID",
        hint: "Begins with AC.",
        placeholder: "AC…",
        required: true,
      },
      {
        path: "credentials.auth_token",
        label: "Auth token",
        hint: "Twilio signs its requests with it.",
        required: true,
      },
    ],
    more: [
      {
        path: "credentials.api_key_sid",
        label: "API key SID",
        hint: "To send requests with an API key. Begins with SK.",
        placeholder: "SK…",
      },
      { path: "credentials.api_key_secret", label: "API key secret", hint: "Belongs to the API key SID." },
      {
        path: "credentials.secondary_auth_token",
        label: "Secondary auth token",
        hint: "While you rotate the auth token: signatures of either are accepted.",
      },
      BASE_URL,
    ],
  },
  {
    name: "signalwire",
    title: "SignalWire",
    summary: "Phone calls",
    group: "Phone carriers",
    where: "In your SignalWire space, under API → Credentials. The API token needs the scope Voice.",
    link: "https://signalwire.com/signin",
    fields: [
      {
        path: "settings.space",
        label: "Space",
        hint: "The first part of <space>.signalwire.com.",
        placeholder: "example",
        required: true,
      },
      { path: "credentials.project_id", label: "Project ID", hint: "Above the list of tokens.", required: true },
      {
        path: "credentials.api_token",
        label: "API token",
        hint: "Begins with PT.",
        placeholder: "PT…",
        required: true,
      },
      {
        path: "credentials.signing_key",
        label: "Signing key",
        hint: "Behind “Show signing key”. Begins with PSK.",
        placeholder: "PSK_…",
        required: true,
      },
    ],
    more: [BASE_URL],
  },
  {
    name: "telnyx",
    title: "Telnyx",
    summary: "Phone calls",
    group: "Phone carriers",
    where:
      "In the Telnyx portal: create a Voice API application under Voice → Programmable Voice and give it an outbound voice profile. The keys stand under Account settings → Keys & Credentials.",
    link: "https://portal.telnyx.com",
    fields: [
      {
        path: "settings.connection_id",
        label: "Application ID",
        hint: "The id of the Voice API application.",
        required: true,
      },
      {
        path: "credentials.api_key",
        label: "API key",
        hint: "Begins with KEY.",
        placeholder: "KEY…",
        required: true,
      },
      {
        path: "credentials.public_key",
        label: "Public key",
        hint: "Under “Public key”: it verifies Telnyx’s webhooks.",
        required: true,
      },
    ],
    more: [
      {
        path: "settings.codec",
        label: "Codec",
        hint: "PCMA in Europe.",
        options: ["PCMU", "PCMA", "L16"],
      },
      BASE_URL,
    ],
  },
  {
    name: "simulator",
    title: "Simulator",
    summary: "Rehearse calls without a carrier",
    group: "Phone carriers",
    where:
      "Nothing to enter: the simulator is a phone network inside the service. +1 202 555 0100 answers and talks; 0101 is busy.",
    fields: [],
  },
  {
    name: "openai",
    title: "OpenAI",
    summary: "Models, speech and voices; also any server with its API",
    group: "Speech and language",
    where:
      "Under API keys on the OpenAI platform. Azure, Groq, OpenRouter, vLLM, Ollama and llama.cpp work too: enter their base URL.",
    link: "https://platform.openai.com/api-keys",
    fields: [
      { ...API_KEY, required: false, hint: "Your own server may not need one." },
      { ...BASE_URL, placeholder: "https://api.openai.com/v1" },
    ],
    more: [
      { ...MODEL, placeholder: "gpt-6-luna" },
      { ...STT_MODEL, placeholder: "gpt-transcribe" },
      { path: "settings.tts_model", label: "Text-to-speech model", hint: "Used by agents that name no model." },
      { ...TTS_VOICE, placeholder: "alloy" },
    ],
  },
  {
    name: "anthropic",
    title: "Anthropic",
    summary: "Language models",
    group: "Speech and language",
    where: "Under API keys in the Claude console.",
    link: "https://console.anthropic.com/settings/keys",
    fields: [{ ...API_KEY, placeholder: "sk-ant-…" }],
    more: [{ ...MODEL, placeholder: "claude-haiku-4-5" }, BASE_URL],
  },
  {
    name: "gemini",
    title: "Gemini",
    summary: "Language models",
    group: "Speech and language",
    where: "Under API keys in Google AI Studio.",
    link: "https://aistudio.google.com/apikey",
    fields: [API_KEY],
    more: [{ ...MODEL, placeholder: "gemini-3.5-flash-lite" }, BASE_URL],
  },
  {
    name: "deepgram",
    title: "Deepgram",
    summary: "Speech to text, voices",
    group: "Speech and language",
    where: "In the Deepgram console, under API keys. The role Member is enough.",
    link: "https://console.deepgram.com",
    fields: [API_KEY],
    more: [{ ...STT_MODEL, placeholder: "nova-3" }, { ...TTS_VOICE, placeholder: "aura-2-thalia-en" }, BASE_URL],
  },
  {
    name: "assemblyai",
    title: "AssemblyAI",
    summary: "Speech to text",
    group: "Speech and language",
    where: "On the AssemblyAI dashboard, under API keys.",
    link: "https://www.assemblyai.com/dashboard",
    fields: [API_KEY],
    more: [{ ...STT_MODEL, placeholder: "universal-streaming-english" }, BASE_URL],
  },
  {
    name: "elevenlabs",
    title: "ElevenLabs",
    summary: "Voices, speech to text",
    group: "Speech and language",
    where: "Under Developers → API keys. It needs access to text to speech, speech to text and voices.",
    link: "https://elevenlabs.io/app/developers/api-keys",
    fields: [API_KEY],
    more: [
      { ...TTS_VOICE, placeholder: "JBFqnCBsd6RMkjVDRZzb" },
      { ...STT_MODEL, placeholder: "scribe_v2_realtime" },
      BASE_URL,
    ],
  },
  {
    name: "cartesia",
    title: "Cartesia",
    summary: "Voices, speech to text",
    group: "Speech and language",
    where: "In the Cartesia playground, under API keys.",
    link: "https://play.cartesia.ai/keys",
    fields: [API_KEY],
    more: [TTS_VOICE, { ...STT_MODEL, placeholder: "ink-2" }, BASE_URL],
  },
  {
    name: "local",
    title: "Local models",
    summary: "Speech to text and a voice on this machine",
    group: "Speech and language",
    where: "Nothing to enter. The models come with “switchhook models pull”; they speak English.",
    fields: [],
  },
  {
    name: "http",
    title: "Web service",
    summary: "Secrets for an agent’s tools",
    group: "More",
    where: "From the service that the tool calls. Each credential is sent as a header of that name.",
    fields: [
      {
        path: "settings.base_url",
        label: "Base URL",
        hint: "The credentials are sent to addresses below it only.",
        placeholder: "https://api.example.com/v1",
        required: true,
      },
      {
        path: "credentials.Authorization",
        label: "Authorization",
        hint: "The whole header, for example “Bearer …”.",
        placeholder: "Bearer …",
        required: true,
      },
    ],
  },
  {
    name: "scripted",
    title: "Scripted dialogue",
    summary: "Rule-based answers, for tests",
    group: "More",
    where: "Nothing to enter. It answers by rules and costs nothing.",
    fields: [],
  },
];

/** What is known of a provider; a plain entry for one that this page does not know. */
export function providerInfo(name: string): ProviderInfo {
  const known = PROVIDERS.find((provider) => provider.name === name);
  return (
    known ?? {
      name: name as Provider,
      title: name.charAt(0).toUpperCase() + name.slice(1),
      summary: "",
      group: "More",
      where: "See the provider’s documentation.",
      fields: [API_KEY, BASE_URL],
    }
  );
}

const KINDS: Record<Kind, string> = {
  carrier: "Phone calls",
  stt: "Speech to text",
  llm: "Language model",
  tts: "Voices",
  realtime: "Speech to speech",
  tool: "Tools",
  several: "Several",
};

/** "Speech to text, voices" */
export function kindWords(kinds: readonly Kind[]): string {
  return kinds.map((kind, i) => (i === 0 ? KINDS[kind] : KINDS[kind].toLowerCase())).join(", ");
}

/** What the form holds: a text for each field. */
export type ProviderValues = Record<string, string>;
type Texts = Record<string, string>;

type Schemas = components["schemas"];

/** The body of a new connection: only the fields that were filled in. */
export function connectionBody(provider: Provider, name: string, values: ProviderValues): Schemas["CreateConnection"] {
  const body = { provider, name: name.trim(), credentials: {} as Texts, settings: {} as Texts };
  for (const [path, text] of Object.entries(values)) {
    const value = text.trim();
    const [part, key] = split(path);
    if (value === "" || !key) continue;
    body[part][key] = value;
  }
  // The schema knows no fields of settings, as they are the provider's own.
  return body as Schemas["CreateConnection"];
}

/** The changes to a connection: secrets that were typed, and settings that differ. An emptied setting is removed. */
export function connectionPatch(
  saved: { name: string; settings: Record<string, unknown> },
  name: string,
  values: ProviderValues,
): Schemas["UpdateConnection"] {
  const patch: { name?: string; credentials?: Texts; settings?: Record<string, string | null> } = {};
  if (name.trim() !== saved.name) patch.name = name.trim();
  for (const [path, text] of Object.entries(values)) {
    const value = text.trim();
    const [part, key] = split(path);
    if (!key) continue;
    if (part === "credentials") {
      if (value !== "") patch.credentials = { ...patch.credentials, [key]: value };
    } else if (value !== settingText(saved.settings[key])) {
      patch.settings = { ...patch.settings, [key]: value === "" ? null : value };
    }
  }
  return patch as Schemas["UpdateConnection"];
}

/** A setting as the form shows it. */
export function settingText(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function split(path: string): ["credentials" | "settings", string | undefined] {
  const dot = path.indexOf(".");
  return [path.slice(0, dot) as "credentials" | "settings", path.slice(dot + 1)];
}

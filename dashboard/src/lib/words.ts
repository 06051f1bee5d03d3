/** The API's codes in words. */
import type { components } from "../api/schema";

type Schemas = components["schemas"];
export type Tone = "neutral" | "accent" | "good" | "warn" | "bad";

/** "api_hangup" → "Api hangup", for codes without words of their own. */
export function plain(code: string): string {
  const text = code.replace(/[_.-]+/g, " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const STATUS: Record<string, { word: string; tone: Tone; live: boolean }> = {
  queued: { word: "Queued", tone: "neutral", live: true },
  dialing: { word: "Dialing", tone: "accent", live: true },
  ringing: { word: "Ringing", tone: "accent", live: true },
  in_progress: { word: "In progress", tone: "good", live: true },
  completed: { word: "Completed", tone: "neutral", live: false },
  failed: { word: "Failed", tone: "bad", live: false },
};

export function statusWords(status: string): { word: string; tone: Tone; live: boolean } {
  return STATUS[status] ?? { word: plain(status), tone: "neutral", live: false };
}

export const END_REASONS: Record<string, string> = {
  caller_hangup: "Caller hung up",
  agent_hangup: "Agent hung up",
  transferred: "Transferred",
  api_hangup: "Hung up by request",
  canceled: "Canceled",
  voicemail: "Voicemail",
  silence: "Silence",
  max_duration: "Longest duration reached",
  drained: "The service stopped",
} satisfies Record<Schemas["CallEndReason"], string>;

export const ERROR_CODES: Record<string, string> = {
  carrier_unauthorized: "Credentials refused",
  carrier_error: "Carrier error",
  busy: "Busy",
  no_answer: "No answer",
  rejected: "Rejected",
  invalid_number: "Invalid number",
  no_media: "No audio",
  config_error: "Wrong settings",
  provider_timeout: "Provider timed out",
  pipeline_error: "Speech pipeline failed",
  unknown_error: "Unknown error",
} satisfies Record<Schemas["CallFailure"], string>;

/** Why a call ended, in words; empty while it lives. */
export function endWords(call: Pick<Schemas["Call"], "end_reason" | "error_code">): string {
  if (call.error_code) return ERROR_CODES[call.error_code] ?? plain(call.error_code);
  if (call.end_reason) return END_REASONS[call.end_reason] ?? plain(call.end_reason);
  return "";
}

const PROVIDER: Record<string, string> = {
  simulator: "Simulator",
  twilio: "Twilio",
  signalwire: "SignalWire",
  telnyx: "Telnyx",
  plivo: "Plivo",
  vonage: "Vonage",
  sip: "SIP trunk",
  web: "Browser",
  local: "Local",
  scripted: "Scripted",
  openai: "OpenAI",
  anthropic: "Anthropic",
  gemini: "Gemini",
  deepgram: "Deepgram",
  assemblyai: "AssemblyAI",
  elevenlabs: "ElevenLabs",
  cartesia: "Cartesia",
  http: "HTTP",
};

export function providerName(provider: string): string {
  return PROVIDER[provider] ?? plain(provider);
}

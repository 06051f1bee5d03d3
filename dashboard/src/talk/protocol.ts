/** The texts of the web call's socket. Pure; the audio between them is bare PCM. */

/** How long the stages of one response took, in milliseconds; a stage that did not happen is `null`. */
export interface Latency {
  totalMs: number;
  /** Waiting to be sure that the caller had finished. */
  turnMs: number | null;
  /** The model's first words. */
  modelMs: number | null;
  /** The voice's first audio. */
  voiceMs: number | null;
  /** Sending and playing it. */
  playMs: number | null;
}

/** What carries audio: binary messages of the socket, or RTP of the WebRTC session. */
export type Transport = "websocket" | "udp";

/** What the service sends. */
export type ServiceMessage =
  /** The first of a socket: whether a WebRTC session may be offered. */
  | { type: "start"; rtc: boolean }
  | { type: "rtc_answer"; sdp: string }
  | { type: "rtc_unavailable" }
  /** The agent's audio goes over this from here on, and so should the microphone. */
  | { type: "transport"; transport: Transport }
  /** What the agent does. The first one of a socket brings the token that resumes the call after it. */
  | { type: "state"; state: string; resume: string | null }
  | { type: "transcript"; role: "caller" | "agent"; text: string; final: boolean }
  | { type: "latency"; latency: Latency }
  | { type: "clear" }
  | { type: "mark"; name: string }
  | { type: "end"; reason: string };

/** What the browser sends. */
export type BrowserMessage =
  | { type: "start"; sample_rate: 16_000 }
  | { type: "resume"; token: string }
  | { type: "dtmf"; digit: string }
  | { type: "mark"; name: string }
  | { type: "rtc_offer"; sdp: string }
  | { type: "transport"; transport: Transport }
  | { type: "hangup" };

type Fields = Record<string, unknown>;

/** Reads a text of the service; `null` for one that this version does not know. */
export function parseMessage(text: string): ServiceMessage | null {
  let fields: Fields;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return null;
    fields = value as Fields;
  } catch {
    return null;
  }
  switch (fields.type) {
    case "start":
      return { type: "start", rtc: fields.rtc === true };
    case "rtc_answer":
      return typeof fields.sdp === "string" ? { type: "rtc_answer", sdp: fields.sdp } : null;
    case "rtc_unavailable":
      return { type: "rtc_unavailable" };
    case "transport":
      return fields.transport === "udp" || fields.transport === "websocket"
        ? { type: "transport", transport: fields.transport }
        : null;
    case "state":
      return {
        type: "state",
        state: String(fields.state ?? "listening"),
        resume: typeof fields.resume === "string" ? fields.resume : null,
      };
    case "transcript":
      return transcript(fields);
    case "latency":
      return { type: "latency", latency: latency(fields) };
    case "clear":
      return { type: "clear" };
    case "mark":
      return { type: "mark", name: String(fields.name ?? "") };
    case "end":
      return { type: "end", reason: String(fields.end_reason ?? fields.error_code ?? "") };
    default:
      return null;
  }
}

function transcript(fields: Fields): ServiceMessage | null {
  if (fields.role !== "caller" && fields.role !== "agent") return null;
  return { type: "transcript", role: fields.role, text: String(fields.text ?? ""), final: fields.final === true };
}

function latency(fields: Fields): Latency {
  const number = (value: unknown): number | null => (typeof value === "number" ? value : null);
  const [spoken, turn, token, audio, heard] = [
    "end_of_speech_ms",
    "end_of_turn_ms",
    "first_token_ms",
    "first_audio_ms",
    "heard_ms",
  ].map((name) => number(fields[name]));
  const between = (from: number | null | undefined, to: number | null | undefined): number | null =>
    from === null || from === undefined || to === null || to === undefined ? null : Math.max(0, to - from);
  const total = number(fields.latency_ms) ?? between(spoken, heard) ?? 0;
  return {
    totalMs: total,
    turnMs: between(spoken, turn),
    modelMs: between(turn, token),
    voiceMs: between(token ?? turn, audio),
    playMs: between(audio, heard),
  };
}

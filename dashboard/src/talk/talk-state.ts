/**
 * What the Talk panel shows, and what it does next. Pure: `transition` takes the state and an input, and returns the
 * next state with the effects that `TalkSession` carries out.
 */

import type { BrowserMessage, Latency, ServiceMessage, Transport } from "./protocol";

export type Phase = "idle" | "asking" | "connecting" | "live" | "reconnecting" | "ended" | "refused";

/** Why no conversation came about. */
export type Refusal =
  | { kind: "denied" | "no_device" | "device_busy" | "insecure" | "timeout" | "expired" }
  | { kind: "service"; status: number; code: string; detail: string };

/** One line of the transcript. */
export interface Line {
  id: number;
  role: "caller" | "agent";
  text: string;
  /** Words of the agent after `text` that were not heard, or not yet. */
  unheard: string;
  final: boolean;
  /** How long the caller waited for it. */
  latencyMs: number | null;
}

/** The call behind the conversation. */
export interface TalkCall {
  id: string | null;
  url: string;
}

export interface TalkState {
  phase: Phase;
  /** When the phase began. */
  since: number;
  /** When the conversation began; nothing before. */
  startedAt: number | null;
  endedAt: number | null;
  /** Why it ended: the API's `end_reason`, or `lost`. */
  endReason: string | null;
  refusal: Refusal | null;
  call: TalkCall | null;
  /** What a new socket sends to go on where the last one was lost. */
  resume: string | null;
  muted: boolean;
  /** `lost`: it went away, and the browser is asked for another one; `missing`: there was none. */
  microphone: "works" | "lost" | "missing";
  /** Both are needed to be live: otherwise the panel would say so while the service hears nothing. */
  microphoneRuns: boolean;
  serviceAnswers: boolean;
  /** What carries audio, both ways. */
  transport: Transport;
  /** Whether a WebRTC session was tried: there is one attempt for each call. */
  rtcTried: boolean;
  agent: string;
  lines: Line[];
  /** The latest last. */
  latencies: Latency[];
  /** The latency of an answer whose words are still to come. */
  pendingLatencyMs: number | null;
}

export type Input =
  | { type: "talk" }
  | { type: "microphone_opened" }
  | { type: "microphone_failed"; refusal: Refusal }
  | { type: "microphone_frame" }
  | { type: "microphone_lost" }
  | { type: "microphone_replaced" }
  | { type: "microphone_missing" }
  /** The person asks for another one, or a device was plugged in. */
  | { type: "find_microphone" }
  | { type: "call_placed"; call: TalkCall }
  | { type: "call_refused"; refusal: Refusal }
  | { type: "socket_opened" }
  | { type: "socket_closed"; code: number }
  | { type: "message"; message: ServiceMessage }
  | { type: "mark_played"; name: string }
  | { type: "rtc_offered"; sdp: string }
  | { type: "rtc_failed" }
  | { type: "mute"; muted: boolean }
  | { type: "digit"; digit: string }
  | { type: "end" }
  | { type: "tick" };

export type Effect =
  | { type: "open_microphone" }
  /** Asks the browser for another microphone, in place of the one that was lost. */
  | { type: "replace_microphone" }
  | { type: "place_call" }
  | { type: "open_socket"; url: string; delayMs: number }
  | { type: "send"; message: BrowserMessage }
  | { type: "queue_mark"; name: string }
  | { type: "clear_audio" }
  | { type: "open_rtc" }
  | { type: "answer_rtc"; sdp: string }
  | { type: "close_rtc" }
  /** Closes the microphone, the loudspeaker, the WebRTC session and the socket. */
  | { type: "release" }
  /** Ends a call whose socket is not open. */
  | { type: "hang_up_call"; id: string };

export interface Transition {
  state: TalkState;
  effects: Effect[];
}

/** How long a connection may take. */
export const CONNECT_MS = 8_000;
/** How long a lost socket can be resumed. */
export const RESUME_MS = 5_000;
/** How long to wait between two attempts to resume. */
const RETRY_MS = 400;
/** After this, the panel says how to unblock the microphone. */
export const HINT_MS = 10_000;

/** The call has ended, or the service refuses the socket or its token: no other socket will do better. */
const CLOSED_FOR_GOOD = [1000, 1008];

export const IDLE: TalkState = {
  phase: "idle",
  since: 0,
  startedAt: null,
  endedAt: null,
  endReason: null,
  refusal: null,
  call: null,
  resume: null,
  muted: false,
  microphone: "works",
  microphoneRuns: false,
  serviceAnswers: false,
  transport: "websocket",
  rtcTried: false,
  agent: "listening",
  lines: [],
  latencies: [],
  pendingLatencyMs: null,
};

/** Whether a call is under way, which leaving the page would end. */
export function isActive(state: TalkState): boolean {
  return ["asking", "connecting", "live", "reconnecting"].includes(state.phase);
}

/** Milliseconds until a lost conversation is given up. */
export function remainingMs(state: TalkState, now: number): number {
  return state.phase === "reconnecting" ? Math.max(0, state.since + RESUME_MS - now) : 0;
}

export function transition(state: TalkState, input: Input, now: number): Transition {
  switch (input.type) {
    case "talk":
      if (isActive(state)) return stay(state);
      return { state: { ...IDLE, phase: "asking", since: now }, effects: [{ type: "open_microphone" }] };
    case "microphone_opened":
      if (state.phase !== "asking") return { state, effects: [{ type: "release" }] };
      return { state: { ...state, phase: "connecting", since: now }, effects: [{ type: "place_call" }] };
    case "microphone_failed":
    case "call_refused":
      return isActive(state) ? refuse(state, input.refusal, now) : stay(state);
    case "microphone_frame":
      return state.microphoneRuns ? stay(state) : become(state, { microphoneRuns: true }, now);
    case "microphone_lost":
      return isActive(state) ? findMicrophone(state) : stay(state);
    case "find_microphone":
      return isActive(state) && state.microphone === "missing" ? findMicrophone(state) : stay(state);
    case "microphone_replaced":
      return stay({ ...state, microphone: "works" });
    case "microphone_missing":
      return stay({ ...state, microphone: "missing" });
    case "call_placed":
      return placed(state, input.call);
    case "socket_opened":
      return opened(state);
    case "socket_closed":
      return closed(state, input.code, now);
    case "message":
      return isActive(state) ? received(state, input.message, now) : stay(state);
    case "mark_played":
      return send(state, { type: "mark", name: input.name });
    case "rtc_offered":
      return isActive(state) ? send(state, { type: "rtc_offer", sdp: input.sdp }) : stay(state);
    case "rtc_failed":
      return rtcFailed(state);
    case "mute":
      return stay({ ...state, muted: input.muted });
    case "digit":
      return state.phase === "live" ? send(state, { type: "dtmf", digit: input.digit }) : stay(state);
    case "end":
      return ended(state, now);
    case "tick":
      return ticked(state, now);
  }
}

function stay(state: TalkState): Transition {
  return { state, effects: [] };
}

function send(state: TalkState, message: BrowserMessage): Transition {
  return { state, effects: [{ type: "send", message }] };
}

function refuse(state: TalkState, refusal: Refusal, now: number): Transition {
  return {
    state: { ...state, phase: "refused", since: now, refusal },
    effects: [{ type: "release" }],
  };
}

/** The call continues without a microphone: the caller still hears the agent. */
function findMicrophone(state: TalkState): Transition {
  return { state: { ...state, microphone: "lost" }, effects: [{ type: "replace_microphone" }] };
}

/** Applies a change; the conversation is live once microphone and service both run. */
function become(state: TalkState, change: Partial<TalkState>, now: number): Transition {
  const next = { ...state, ...change };
  const isReady = next.microphoneRuns && next.serviceAnswers;
  if (!isReady || (next.phase !== "connecting" && next.phase !== "reconnecting")) return stay(next);
  return stay({ ...next, phase: "live", since: now, startedAt: next.startedAt ?? now });
}

function placed(state: TalkState, call: TalkCall): Transition {
  if (state.phase === "connecting") {
    return { state: { ...state, call }, effects: [{ type: "open_socket", url: call.url, delayMs: 0 }] };
  }
  // Cancelled while the request was under way: nobody would answer this call.
  return { state, effects: call.id === null ? [] : [{ type: "hang_up_call", id: call.id }] };
}

function opened(state: TalkState): Transition {
  if (!isActive(state)) return { state, effects: [{ type: "release" }] };
  if (state.phase === "reconnecting" && state.resume !== null) {
    return send(state, { type: "resume", token: state.resume });
  }
  return send(state, { type: "start", sample_rate: 16_000 });
}

function closed(state: TalkState, code: number, now: number): Transition {
  const isOver = CLOSED_FOR_GOOD.includes(code);
  if (state.phase === "connecting") return refuse(state, { kind: isOver ? "expired" : "timeout" }, now);
  if (state.phase === "live" && !isOver && state.call) {
    return {
      state: { ...state, phase: "reconnecting", since: now, serviceAnswers: false },
      effects: [{ type: "clear_audio" }, { type: "open_socket", url: state.call.url, delayMs: 0 }],
    };
  }
  if (state.phase === "reconnecting" && !isOver && state.call) {
    return { state, effects: [{ type: "open_socket", url: state.call.url, delayMs: RETRY_MS }] };
  }
  return isActive(state) ? finish(state, code === 1000 ? "" : "lost", now) : stay(state);
}

function finish(state: TalkState, reason: string, now: number): Transition {
  const lines = state.lines.map((line) => ({ ...line, final: true }));
  return {
    state: { ...state, phase: "ended", since: now, endedAt: now, endReason: reason, lines },
    effects: [{ type: "release" }],
  };
}

function ended(state: TalkState, now: number): Transition {
  switch (state.phase) {
    case "asking":
      return { state: { ...IDLE, since: now }, effects: [{ type: "release" }] };
    case "connecting": {
      const hangUp: Effect[] = state.call?.id ? [{ type: "hang_up_call", id: state.call.id }] : [];
      return { state: { ...IDLE, since: now }, effects: [...hangUp, { type: "release" }] };
    }
    case "live":
    case "reconnecting": {
      const { state: next, effects } = finish(state, "caller_hangup", now);
      return { state: next, effects: [{ type: "send", message: { type: "hangup" } }, ...effects] };
    }
    default:
      return stay(state);
  }
}

function ticked(state: TalkState, now: number): Transition {
  if (state.phase === "connecting" && now - state.since >= CONNECT_MS) {
    const { state: next, effects } = refuse(state, { kind: "timeout" }, now);
    const hangUp: Effect[] = state.call?.id ? [{ type: "hang_up_call", id: state.call.id }] : [];
    return { state: next, effects: [...hangUp, ...effects] };
  }
  if (state.phase === "reconnecting" && now - state.since >= RESUME_MS) return finish(state, "lost", now);
  return stay(state);
}

/** Audio goes over the socket, which it may have done all the time. */
function rtcFailed(state: TalkState): Transition {
  const told: Effect[] =
    state.transport === "udp" ? [{ type: "send", message: { type: "transport", transport: "websocket" } }] : [];
  return { state: { ...state, transport: "websocket" }, effects: [...told, { type: "close_rtc" }] };
}

function transportChanged(state: TalkState, transport: Transport): Transition {
  if (transport === "websocket") return { state: { ...state, transport }, effects: [{ type: "close_rtc" }] };
  // Behind the last audio on the socket, so that the service knows where it goes on.
  return { state: { ...state, transport }, effects: [{ type: "send", message: { type: "transport", transport } }] };
}

function received(state: TalkState, message: ServiceMessage, now: number): Transition {
  switch (message.type) {
    case "start":
      if (!message.rtc || state.rtcTried) return stay(state);
      return { state: { ...state, rtcTried: true }, effects: [{ type: "open_rtc" }] };
    case "rtc_answer":
      return { state, effects: [{ type: "answer_rtc", sdp: message.sdp }] };
    case "rtc_unavailable":
      return { state, effects: [{ type: "close_rtc" }] };
    case "transport":
      return transportChanged(state, message.transport);
    case "state":
      return become(state, { serviceAnswers: true, agent: message.state, resume: message.resume ?? state.resume }, now);
    case "transcript": {
      const next = { ...state, lines: withLine(state.lines, message) };
      return stay(message.role === "agent" ? withPendingLatency(next) : next);
    }
    case "latency": {
      const { latency } = message;
      const next = { ...state, latencies: [...state.latencies, latency], pendingLatencyMs: latency.totalMs };
      // An answer has its latency before it is over, so one that is over is an older one.
      return stay(state.lines.some(({ role, final }) => role === "agent" && !final) ? withPendingLatency(next) : next);
    }
    case "clear":
      return { state, effects: [{ type: "clear_audio" }] };
    case "mark":
      return { state, effects: [{ type: "queue_mark", name: message.name }] };
    case "end":
      return finish(state, message.reason, now);
  }
}

/** The transcript with a line added, or with the open line of that speaker replaced. */
function withLine(lines: Line[], { role, text, final }: Extract<ServiceMessage, { type: "transcript" }>): Line[] {
  const open = lines.findLast((line) => line.role === role && !line.final);
  if (!open) {
    const id = (lines.at(-1)?.id ?? 0) + 1;
    return [...lines, { id, role, text, unheard: "", final, latencyMs: null }];
  }
  const unheard = final && role === "agent" ? rest(open.text, text) : "";
  return lines.map((line) => (line === open ? { ...line, text, unheard, final } : line));
}

/** What of `planned` comes after `heard`; nothing if `heard` is not its beginning. */
function rest(planned: string, heard: string): string {
  return planned.length > heard.length && planned.startsWith(heard) ? planned.slice(heard.length) : "";
}

/** The latency that has no line yet stands beside the agent's latest. */
function withPendingLatency(state: TalkState): TalkState {
  const { lines, pendingLatencyMs: latencyMs } = state;
  const latest = lines.findLast(({ role }) => role === "agent");
  if (latencyMs === null || !latest) return state;
  return {
    ...state,
    pendingLatencyMs: null,
    lines: lines.map((line) => (line === latest ? { ...line, latencyMs } : line)),
  };
}

/** The median of the latencies so far. */
export function medianLatency(latencies: Latency[]): number | null {
  const sorted = latencies.map((latency) => latency.totalMs).sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

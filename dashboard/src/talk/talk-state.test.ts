import { describe, expect, test } from "vitest";
import type { ServiceMessage } from "./protocol";
import {
  CONNECT_MS,
  IDLE,
  isActive,
  medianLatency,
  remainingMs,
  RESUME_MS,
  transition,
  type Effect,
  type Input,
  type TalkState,
} from "./talk-state";

const CALL = { id: "c1", url: "wss://voice.example/media/web/t1" };
const NOW = 1_000_000;

/** Plays inputs one after the other, a millisecond apart. */
function play(inputs: Input[], from: TalkState = IDLE, at = NOW): { state: TalkState; effects: Effect[] } {
  const effects: Effect[] = [];
  let state = from;
  inputs.forEach((input, i) => {
    const next = transition(state, input, at + i);
    state = next.state;
    effects.push(...next.effects);
  });
  return { state, effects };
}

function message(message: ServiceMessage): Input {
  return { type: "message", message };
}

const SAYS = (role: "agent" | "caller", text: string, final = true) =>
  message({ type: "transcript", role, text, final });
const STATE = (state: string, resume: string | null = null) => message({ type: "state", state, resume });

const CONNECTING: Input[] = [
  { type: "talk" },
  { type: "microphone_opened" },
  { type: "call_placed", call: CALL },
  { type: "socket_opened" },
];
const LIVE: Input[] = [...CONNECTING, { type: "microphone_frame" }, STATE("speaking", "r1")];

describe("the way to a conversation", () => {
  test("asks for the microphone first, then places the call, then opens its socket", () => {
    const { state, effects } = play(CONNECTING);
    expect(effects.map(({ type }) => type)).toEqual(["open_microphone", "place_call", "open_socket", "send"]);
    expect(state).toMatchObject({ phase: "connecting", call: CALL });
  });

  test("is live only with both the first frame of the microphone and the service's state", () => {
    expect(play([...CONNECTING, { type: "microphone_frame" }]).state.phase).toBe("connecting");
    expect(play([...CONNECTING, STATE("listening")]).state.phase).toBe("connecting");
    expect(play(LIVE).state).toMatchObject({ phase: "live", agent: "speaking" });
  });

  test("a frame that comes before the socket counts, too", () => {
    const early: Input[] = [{ type: "talk" }, { type: "microphone_frame" }, ...CONNECTING.slice(1), STATE("speaking")];
    expect(play(early).state.phase).toBe("live");
  });

  test("a second press of Talk does nothing", () => {
    expect(play([{ type: "talk" }], play(LIVE).state)).toMatchObject({ state: { phase: "live" }, effects: [] });
  });

  test("gives up after eight seconds, and ends the call that nobody would talk to", () => {
    const { state } = play(CONNECTING);
    expect(transition(state, { type: "tick" }, state.since + CONNECT_MS - 1).state.phase).toBe("connecting");
    const late = transition(state, { type: "tick" }, state.since + CONNECT_MS);
    expect(late.state).toMatchObject({ phase: "refused", refusal: { kind: "timeout" } });
    expect(late.effects).toEqual([{ type: "hang_up_call", id: "c1" }, { type: "release" }]);
  });
});

describe("a refusal", () => {
  test("of the microphone places no call", () => {
    const { state, effects } = play([{ type: "talk" }, { type: "microphone_failed", refusal: { kind: "denied" } }]);
    expect(state).toMatchObject({ phase: "refused", refusal: { kind: "denied" } });
    expect(effects.map(({ type }) => type)).toEqual(["open_microphone", "release"]);
  });

  test("of the service keeps its words", () => {
    const refusal = {
      kind: "service",
      status: 429,
      code: "concurrent_calls",
      detail: "All 20 calls are in use.",
    } as const;
    const { state } = play([{ type: "talk" }, { type: "microphone_opened" }, { type: "call_refused", refusal }]);
    expect(state.refusal).toEqual(refusal);
  });

  test("of a used or expired token is no time-out", () => {
    const { state } = play([...CONNECTING, { type: "socket_closed", code: 1008 }]);
    expect(state.refusal).toEqual({ kind: "expired" });
  });

  test("can be followed by another attempt", () => {
    const refused = play([{ type: "talk" }, { type: "microphone_failed", refusal: { kind: "denied" } }]).state;
    expect(play([{ type: "talk" }], refused).state).toMatchObject({ phase: "asking", refusal: null });
  });
});

describe("Cancel", () => {
  test("while the browser asks releases what it may grant later", () => {
    const cancelled = play([{ type: "talk" }, { type: "end" }]).state;
    expect(cancelled.phase).toBe("idle");
    expect(play([{ type: "microphone_opened" }], cancelled).effects).toEqual([{ type: "release" }]);
  });

  test("while the call is being placed hangs it up once it exists", () => {
    const cancelled = play([{ type: "talk" }, { type: "microphone_opened" }, { type: "end" }]).state;
    expect(play([{ type: "call_placed", call: CALL }], cancelled).effects).toEqual([
      { type: "hang_up_call", id: "c1" },
    ]);
  });
});

describe("the transcript", () => {
  test("grows in place while a line is open, and the next line follows it", () => {
    const { state } = play(
      [SAYS("caller", "Hi", false), SAYS("caller", "Hi, it’s Sarah."), SAYS("agent", "Hello", false)],
      play(LIVE).state,
    );
    expect(state.lines.map(({ role, text, final }) => [role, text, final])).toEqual([
      ["caller", "Hi, it’s Sarah.", true],
      ["agent", "Hello", false],
    ]);
  });

  test("keeps the words that an interrupted agent was not heard to say", () => {
    const { state } = play(
      [SAYS("agent", "Friday, gladly. And at what time?", false), SAYS("agent", "Friday, gladly.")],
      play(LIVE).state,
    );
    expect(state.lines[0]).toMatchObject({ text: "Friday, gladly.", unheard: " And at what time?", final: true });
  });

  test("shows nothing unheard of a line that was finished, or changed", () => {
    const finished = play([SAYS("agent", "Hello.", false), SAYS("agent", "Hello.")], play(LIVE).state).state;
    expect(finished.lines[0]?.unheard).toBe("");
    const changed = play([SAYS("agent", "Hello there", false), SAYS("agent", "Hi")], play(LIVE).state).state;
    expect(changed.lines[0]?.unheard).toBe("");
  });

  test("puts a latency beside the agent's latest line", () => {
    const latency = { totalMs: 438, turnMs: 200, modelMs: 100, voiceMs: 100, playMs: 38 };
    const { state } = play(
      [
        SAYS("agent", "Hello."),
        SAYS("caller", "Friday."),
        SAYS("agent", "Gladly.", false),
        message({ type: "latency", latency }),
      ],
      play(LIVE).state,
    );
    expect(state.lines.map(({ latencyMs }) => latencyMs)).toEqual([null, null, 438]);
    expect(medianLatency(state.latencies)).toBe(438);
  });

  test("keeps a latency for the answer whose words come after it", () => {
    const latency = { totalMs: 438, turnMs: 200, modelMs: 100, voiceMs: 100, playMs: 38 };
    const { state } = play(
      [
        SAYS("agent", "Hello."),
        SAYS("caller", "Friday."),
        message({ type: "latency", latency }),
        SAYS("agent", "Gladly."),
      ],
      play(LIVE).state,
    );
    expect(state.lines.map(({ latencyMs }) => latencyMs)).toEqual([null, null, 438]);
  });

  test("keeps a latency for its answer where the caller's words come later, too", () => {
    const latency = { totalMs: 438, turnMs: 200, modelMs: 100, voiceMs: 100, playMs: 38 };
    const { state } = play(
      [
        SAYS("agent", "Hello."),
        message({ type: "latency", latency }),
        SAYS("caller", "Friday."),
        SAYS("agent", "Gladly."),
      ],
      play(LIVE).state,
    );
    expect(state.lines.map(({ latencyMs }) => latencyMs)).toEqual([null, null, 438]);
  });
});

describe("audio", () => {
  test("an interruption empties the loudspeaker at once", () => {
    expect(play([message({ type: "clear" })], play(LIVE).state).effects).toEqual([{ type: "clear_audio" }]);
  });

  test("a mark is queued behind the audio and answered when it was played", () => {
    const queued = play([message({ type: "mark", name: "m1" })], play(LIVE).state);
    expect(queued.effects).toEqual([{ type: "queue_mark", name: "m1" }]);
    expect(play([{ type: "mark_played", name: "m1" }], queued.state).effects).toEqual([
      { type: "send", message: { type: "mark", name: "m1" } },
    ]);
  });

  test("keys are sent while the conversation lives, and only then", () => {
    expect(play([{ type: "digit", digit: "4" }], play(LIVE).state).effects).toEqual([
      { type: "send", message: { type: "dtmf", digit: "4" } },
    ]);
    expect(play([{ type: "digit", digit: "4" }]).effects).toEqual([]);
  });
});

describe("a lost microphone", () => {
  const lost = play([{ type: "microphone_lost" }], play(LIVE).state);

  test("keeps the call, and another one is asked for", () => {
    expect(lost.state).toMatchObject({ phase: "live", microphone: "lost" });
    expect(lost.effects).toEqual([{ type: "replace_microphone" }]);
    expect(play([{ type: "microphone_replaced" }], lost.state).state.microphone).toBe("works");
  });

  test("is looked for again when the person asks, or a device was plugged in", () => {
    const missing = play([{ type: "microphone_missing" }], lost.state);
    expect(missing.state).toMatchObject({ phase: "live", microphone: "missing" });
    expect(play([{ type: "find_microphone" }], missing.state).effects).toEqual([{ type: "replace_microphone" }]);
    expect(play([{ type: "find_microphone" }], lost.state).effects, "one question at a time").toEqual([]);
    expect(play([{ type: "find_microphone" }], play(LIVE).state).effects, "none while one works").toEqual([]);
  });

  test("is not asked for after the call", () => {
    expect(play([{ type: "end" }, { type: "microphone_lost" }], play(LIVE).state).effects.at(-1)).toEqual({
      type: "release",
    });
  });
});

describe("a lost socket", () => {
  const lost = play([SAYS("agent", "Hello."), { type: "socket_closed", code: 1006 }], play(LIVE).state, NOW + 100);

  test("is resumed at the same address, with the transcript kept and the audio stopped", () => {
    expect(lost.state).toMatchObject({ phase: "reconnecting", lines: [{ text: "Hello." }] });
    expect(lost.effects).toEqual([{ type: "clear_audio" }, { type: "open_socket", url: CALL.url, delayMs: 0 }]);
  });

  test("is tried again when the attempt fails as well", () => {
    const [effect] = play([{ type: "socket_closed", code: 1006 }], lost.state).effects;
    expect(effect).toMatchObject({ type: "open_socket", url: CALL.url });
    expect(effect?.type === "open_socket" && effect.delayMs).toBeGreaterThan(0);
  });

  test("is live again with the service's state, as the same conversation", () => {
    const { state, effects } = play([{ type: "socket_opened" }, STATE("listening", "r2")], lost.state);
    expect(effects).toEqual([{ type: "send", message: { type: "resume", token: "r1" } }]);
    expect(state.resume).toBe("r2");
    expect(state).toMatchObject({ phase: "live", startedAt: lost.state.startedAt });
  });

  test("counts down, and ends the conversation after five seconds", () => {
    expect(remainingMs(lost.state, lost.state.since + 1_000)).toBe(RESUME_MS - 1_000);
    const late = transition(lost.state, { type: "tick" }, lost.state.since + RESUME_MS);
    expect(late.state).toMatchObject({ phase: "ended", endReason: "lost" });
  });

  test("that the service closed for good is not tried again", () => {
    expect(play([{ type: "socket_closed", code: 1008 }], lost.state).state.phase).toBe("ended");
  });
});

describe("the end", () => {
  test("by the button tells the service, and releases the microphone", () => {
    const { state, effects } = play([{ type: "end" }], play(LIVE).state);
    expect(effects).toEqual([{ type: "send", message: { type: "hangup" } }, { type: "release" }]);
    expect(state).toMatchObject({ phase: "ended", endReason: "caller_hangup" });
    expect(isActive(state)).toBe(false);
  });

  test("by the agent has the API's reason, and a socket that closes then changes nothing", () => {
    const { state } = play(
      [message({ type: "end", reason: "agent_hangup" }), { type: "socket_closed", code: 1000 }],
      play(LIVE).state,
    );
    expect(state).toMatchObject({ phase: "ended", endReason: "agent_hangup" });
  });

  test("without a word from the service is still an end, not a loss", () => {
    const { state } = play([{ type: "socket_closed", code: 1000 }], play(LIVE).state);
    expect(state).toMatchObject({ phase: "ended", endReason: "" });
  });

  test("leaves no line open", () => {
    const { state } = play([SAYS("caller", "Good", false), { type: "end" }], play(LIVE).state);
    expect(state.lines[0]?.final).toBe(true);
  });
});

describe("audio over WebRTC", () => {
  const START = (rtc: boolean) => message({ type: "start", rtc });
  const TRANSPORT = (transport: "udp" | "websocket") => message({ type: "transport", transport });
  const OVER_UDP: Input[] = [
    ...CONNECTING,
    START(true),
    ...LIVE.slice(CONNECTING.length),
    { type: "rtc_offered", sdp: "ours" },
    message({ type: "rtc_answer", sdp: "theirs" }),
    TRANSPORT("udp"),
  ];

  test("is offered where the service takes it, and used when the service says so", () => {
    const { state, effects } = play(OVER_UDP);
    expect(effects.slice(4)).toEqual([
      { type: "open_rtc" },
      { type: "send", message: { type: "rtc_offer", sdp: "ours" } },
      { type: "answer_rtc", sdp: "theirs" },
      { type: "send", message: { type: "transport", transport: "udp" } },
    ]);
    expect(state).toMatchObject({ phase: "live", transport: "udp" });
  });

  test("is not offered where the service does not take it, and once for each call", () => {
    expect(play([...CONNECTING, START(false)]).state.rtcTried).toBe(false);
    const { effects } = play([START(true), START(true)], play(CONNECTING).state);
    expect(effects).toEqual([{ type: "open_rtc" }]);
    expect(play([{ type: "end" }, { type: "talk" }], play(OVER_UDP).state).state.rtcTried).toBe(false);
  });

  test("goes back to the socket when the service says so, or when the browser notices", () => {
    const carried = play(OVER_UDP).state;
    const told = play([TRANSPORT("websocket")], carried);
    expect(told).toMatchObject({ state: { phase: "live", transport: "websocket" }, effects: [{ type: "close_rtc" }] });
    const noticed = play([{ type: "rtc_failed" }], carried);
    expect(noticed.state).toMatchObject({ phase: "live", transport: "websocket" });
    expect(noticed.effects).toEqual([
      { type: "send", message: { type: "transport", transport: "websocket" } },
      { type: "close_rtc" },
    ]);
  });

  test("that never comes about changes nothing", () => {
    const failed = play([{ type: "rtc_failed" }], play(LIVE).state);
    expect(failed).toMatchObject({ state: { phase: "live" }, effects: [{ type: "close_rtc" }] });
    const refused = play([message({ type: "rtc_unavailable" })], play(LIVE).state);
    expect(refused).toMatchObject({
      state: { phase: "live", transport: "websocket" },
      effects: [{ type: "close_rtc" }],
    });
  });

  test("goes on while the socket is lost", () => {
    const lost = play([{ type: "socket_closed", code: 1006 }], play(OVER_UDP).state);
    expect(lost.state).toMatchObject({ phase: "reconnecting", transport: "udp" });
    expect(lost.effects.some(({ type }) => type === "close_rtc")).toBe(false);
    const resumed = play(
      [{ type: "socket_opened" }, START(true), STATE("listening", "r2"), TRANSPORT("udp")],
      lost.state,
    );
    expect(resumed.state).toMatchObject({ phase: "live", transport: "udp" });
    expect(resumed.effects.some(({ type }) => type === "open_rtc")).toBe(false);
  });
});

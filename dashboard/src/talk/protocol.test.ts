import { expect, test } from "vitest";
import { parseMessage } from "./protocol";

test("the service's texts are read", () => {
  expect(parseMessage('{"type":"transcript","role":"agent","text":"Hi","final":true}')).toEqual({
    type: "transcript",
    role: "agent",
    text: "Hi",
    final: true,
  });
  expect(parseMessage('{"type":"clear"}')).toEqual({ type: "clear" });
  expect(parseMessage('{"type":"mark","name":"m7"}')).toEqual({ type: "mark", name: "m7" });
  expect(parseMessage('{"type":"end","end_reason":"agent_hangup"}')).toEqual({ type: "end", reason: "agent_hangup" });
  expect(parseMessage('{"type":"end","end_reason":null,"error_code":"provider_timeout"}')).toEqual({
    type: "end",
    reason: "provider_timeout",
  });
  expect(parseMessage('{"type":"state","state":"speaking"}')).toEqual({
    type: "state",
    state: "speaking",
    resume: null,
  });
  expect(parseMessage('{"type":"state","state":"listening","resume":"r1"}')).toMatchObject({ resume: "r1" });
  expect(parseMessage('{"type":"start","sample_rate":16000}')).toEqual({ type: "start", rtc: false });
  expect(parseMessage('{"type":"start","sample_rate":16000,"rtc":true}')).toEqual({ type: "start", rtc: true });
  expect(parseMessage('{"type":"rtc_answer","sdp":"v=0"}')).toEqual({ type: "rtc_answer", sdp: "v=0" });
  expect(parseMessage('{"type":"rtc_unavailable","reason":"off"}')).toEqual({ type: "rtc_unavailable" });
  expect(parseMessage('{"type":"transport","transport":"udp"}')).toEqual({ type: "transport", transport: "udp" });
});

test.each([
  "",
  "no JSON",
  "null",
  "7",
  '{"type":"news"}',
  '{"type":"transcript","role":"nobody"}',
  '{"type":"rtc_answer"}',
  '{"type":"transport","transport":"pigeon"}',
])("%j is passed over", (text) => expect(parseMessage(text)).toBeNull());

test("a latency is taken apart by its stages", () => {
  const text = JSON.stringify({
    type: "latency",
    latency_ms: 461,
    end_of_speech_ms: 7579,
    end_of_turn_ms: 7780,
    first_token_ms: 7905,
    first_audio_ms: 7990,
    heard_ms: 8040,
  });
  expect(parseMessage(text)).toEqual({
    type: "latency",
    latency: { totalMs: 461, turnMs: 201, modelMs: 125, voiceMs: 85, playMs: 50 },
  });
});

test("a stage that did not happen is left out, as with speech to speech", () => {
  const text = JSON.stringify({
    type: "latency",
    latency_ms: 300,
    end_of_speech_ms: 0,
    end_of_turn_ms: 100,
    first_token_ms: null,
    first_audio_ms: 250,
    heard_ms: 300,
  });
  expect(parseMessage(text)).toMatchObject({ latency: { modelMs: null, voiceMs: 150, playMs: 50 } });
});

import { expect, test } from "vitest";
import type { Stages, ToolCall, TranscriptLine } from "../../api/types";
import { entries, lineAt, turns } from "./turns";

const line = (role: string, start: number, latency: number | null = null, stages?: Stages) =>
  ({
    role,
    text: role,
    start_ms: start,
    end_ms: start + 900,
    interrupted: false,
    latency_ms: latency,
    stages,
  }) as TranscriptLine;
const stages: Stages = {
  end_of_speech_ms: 7579,
  end_of_turn_ms: 7780,
  first_token_ms: 7905,
  first_audio_ms: 7990,
  heard_ms: 8040,
};

test("an answer's wait is split at its stages and adds up", () => {
  const [turn] = turns({ tool_calls: [], data: [line("agent", 8040, 461, stages)] });
  expect(turn?.segments).toEqual([
    { stage: "turn", ms: 201 },
    { stage: "model", ms: 125 },
    { stage: "voice", ms: 85 },
    { stage: "play", ms: 50 },
  ]);
  expect(turn?.segments.reduce((sum, part) => sum + part.ms, 0)).toBe(turn?.total);
});

test("speech-to-speech has no voice stage", () => {
  const [turn] = turns({ tool_calls: [], data: [line("agent", 8040, 461, { ...stages, first_token_ms: null })] });
  expect(turn?.segments.map((part) => [part.stage, part.ms])).toEqual([
    ["turn", 201],
    ["model", 210],
    ["play", 50],
  ]);
});

test("an unknown first audio leaves the voice until it is heard", () => {
  const [turn] = turns({ tool_calls: [], data: [line("agent", 8040, 461, { ...stages, first_audio_ms: null })] });
  expect(turn?.segments.map((part) => part.stage)).toEqual(["turn", "model", "voice"]);
  expect(turn?.segments.reduce((sum, part) => sum + part.ms, 0)).toBe(461);
});

test("lines and tools are read by their start, and who goes on is not named again", () => {
  const tool = { id: "t", name: "find", start_ms: 5000 } as ToolCall;
  const read = entries({
    data: [line("caller", 1000), line("agent", 4000, 400), line("agent", 6000), line("caller", 8000)],
    tool_calls: [tool],
  });
  expect(read.map((entry) => (entry.kind === "tool" ? "tool" : entry.goesOn))).toEqual([
    false,
    false,
    "tool",
    true,
    false,
  ]);
});

test("the line at a time is the last that began", () => {
  const data = [line("agent", 1000), line("caller", 4000)];
  expect([0, 1, 3.9, 4, 60].map((at) => lineAt({ tool_calls: [], data }, at))).toEqual([-1, 0, 0, 1, 1]);
});

/** The transcript in the order it is read, and what an answer's wait consisted of. Pure. */
import type { FullTranscript, Stages, ToolCall, TranscriptLine } from "../../api/types";
import { why } from "./why";

export type Entry =
  | { kind: "line"; at: number; line: TranscriptLine; /** Speaks on from the line before. */ goesOn: boolean }
  | { kind: "tool"; at: number; tool: ToolCall };

/** Lines and tool calls by their start; a line whose speaker went on has no heading. */
export function entries(transcript: FullTranscript): Entry[] {
  const lines = transcript.data.map((line) => ({ kind: "line" as const, at: line.start_ms, line }));
  const tools = (transcript.tool_calls ?? []).map((tool) => ({
    kind: "tool" as const,
    at: tool.start_ms,
    tool,
  }));
  let speaker = "";
  return [...lines, ...tools]
    .sort((a, b) => a.at - b.at)
    .map((entry) => {
      if (entry.kind === "tool") return entry;
      const goesOn = entry.line.role === speaker && entry.line.latency_ms === null;
      speaker = entry.line.role;
      return { ...entry, goesOn };
    });
}

export const STAGES = ["turn", "model", "voice", "play"] as const;
export type Stage = (typeof STAGES)[number];
export type Segment = { stage: Stage; ms: number };
export type Turn = {
  at: number;
  total: number;
  segments: Segment[];
  /** Why the agent spoke then. */ why: string | null;
};

/** One row per measured answer. */
export function turns(transcript: FullTranscript): Turn[] {
  let caller: TranscriptLine | null = null;
  return transcript.data.flatMap((line) => {
    if (line.role === "caller") caller = line;
    if (line.latency_ms === null) return [];
    const segments = line.stages ? split(line.stages) : [];
    return [{ at: line.start_ms, total: line.latency_ms, segments, why: caller && why(caller) }];
  });
}

/** A stage whose end is not known belongs to the one after it. */
function split(stages: Stages): Segment[] {
  const ends: [Stage, number | null][] = [
    ["turn", stages.end_of_turn_ms],
    ["model", stages.first_token_ms],
    ["voice", stages.first_audio_ms],
    ["play", stages.heard_ms],
  ];
  // Speech-to-speech has no voice stage: its model goes on until the first audio.
  if (stages.first_token_ms === null) {
    ends.splice(1, 2, ["model", stages.first_audio_ms ?? stages.heard_ms]);
  } else if (stages.first_audio_ms === null) {
    ends.splice(2, 1, ["voice", stages.heard_ms]);
  }
  let from = stages.end_of_speech_ms;
  return ends.flatMap(([stage, end]) => {
    if (end === null || end <= from) return [];
    const segment = { stage, ms: end - from };
    from = end;
    return [segment];
  });
}

/** The line that is heard at `seconds`, or the last one before. */
export function lineAt(transcript: FullTranscript, seconds: number): number {
  const ms = seconds * 1000;
  let found = -1;
  transcript.data.forEach((line, index) => {
    if (line.start_ms <= ms) found = index;
  });
  return found;
}

/**
 * Types of endpoints that `docs/openapi.json` does not hold yet. Each moves to
 * `schema.d.ts` with `npm run schema`; then its entry here goes.
 */
import type { components } from "./schema";

type Schemas = components["schemas"];
export type List<T> = { data: T[]; has_more: boolean; next_cursor: string | null };

/** `GET /v1/events` */
export type TenantEvent = {
  id: string;
  call_id: string;
  sequence: number;
  event: Schemas["EventKind"];
  created_at: string;
  data: Record<string, unknown>;
};

/** What an answer's latency consists of, on the clock of `start_ms`. */
export type Stages = {
  end_of_speech_ms: number;
  end_of_turn_ms: number;
  first_token_ms: number | null;
  first_audio_ms: number | null;
  heard_ms: number;
};
export type TranscriptLine = Schemas["TranscriptEntry"] & { stages?: Stages | null };
export type ToolCall = {
  id: string;
  name: string;
  arguments: unknown;
  result: unknown;
  status: "running" | "succeeded" | "failed";
  error: string | null;
  start_ms: number;
  duration_ms: number | null;
};
/** `GET /v1/calls/{id}/transcript` */
export type FullTranscript = { data: TranscriptLine[]; tool_calls?: ToolCall[] };

/** Short names of what `schema.d.ts` describes. */
import type { components } from "./schema";

type Schemas = components["schemas"];
export type List<T> = { data: T[]; has_more: boolean; next_cursor: string | null };
export type CallEvent = Schemas["CallEvent"];
export type Eagerness = Schemas["Eagerness"];
export type Decision = Schemas["CallDecision"];
export type Evidence = Schemas["CallDecisionEvidence"];
export type Stages = Schemas["ResponseStages"];
export type TranscriptLine = Schemas["TranscriptLine"];
export type ToolCall = Schemas["ToolCall"];
export type FullTranscript = { data: TranscriptLine[]; tool_calls: ToolCall[] };

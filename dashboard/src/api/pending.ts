/**
 * Types of endpoints that `docs/openapi.json` does not hold yet. Each moves to
 * `schema.d.ts` with `npm run schema`; then its entry here goes.
 */
import type { components } from "./schema";

type Schemas = components["schemas"];
export type List<T> = { data: T[]; has_more: boolean; next_cursor: string | null };

/** `GET /v1/agents/{id}/versions` */
export type AgentVersion = { version: number; name: string; created_at: string; changed: string[] };

export type ResponseTimes = { p50: number | null; p95: number | null; n: number };
type Money = { cost_usd: number | null; unpriced: boolean };

/** `GET /v1/statistics` */
export type Figures = Money & {
  calls: number;
  completed: number;
  failed: number;
  minutes: number;
  response_ms: ResponseTimes;
};
export type Statistics = {
  interval: "hour" | "day";
  after: string;
  before: string;
  buckets: (Figures & { start: string })[];
  totals: Figures;
};

/** `GET /v1/usage` */
export type UsageFigures = Money & { calls: number; minutes: number };
export type Usage = {
  after: string;
  before: string;
  totals: UsageFigures;
  days: (UsageFigures & { start: string })[];
  agents: (UsageFigures & { agent_id: string; name: string | null; response_ms: ResponseTimes })[];
  connections: (UsageFigures & {
    connection_id: string;
    name: string | null;
    provider: string | null;
  })[];
};

/** `GET /v1/attention` */
export type AttentionItem = {
  kind: "credentials_refused" | "webhook_failing" | "limit_near" | "number_without_agent";
  subject: { type: "connection" | "webhook" | "tenant" | "number"; id: string; name: string };
  since: string | null;
  detail: string;
  count: number | null;
  limit: {
    name: "concurrent_calls" | "monthly_calls" | "cost_per_day_usd";
    used: number;
    limit: number;
  } | null;
};

/** `GET /v1/calls/{id}/deliveries` */
export type CallDelivery = Schemas["DeliveryWithAttempts"] & { webhook_id: string; url: string };

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

/** `GET /v1/connections/{id}/voices` */
export type Voice = {
  voice: string;
  name: string;
  languages: string[];
  description: string | null;
  default: boolean;
};
export type Voices = { data: Voice[]; complete: boolean };

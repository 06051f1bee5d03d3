/** What streams and webhooks bring. */
import type { ServerEvent } from "./sse.js";
import type { Call, CallEvent, ToolCall, TranscriptLine } from "./types.js";

type Some<T extends string> = T | (string & {});

/** The `data` of an event. Some events have more than the first eight fields. */
export type EventData = {
  call_id: string;
  agent_id: string;
  status: Call["status"];
  direction: Call["direction"];
  from: string;
  to: string;
  metadata: Record<string, unknown>;
  sequence: number;
  summary?: string;
  outcome?: unknown;
  end_reason?: Call["end_reason"];
  error_code?: Call["error_code"];
  error?: string | null;
  duration_seconds?: number;
  turns?: number;
  cause?: Some<"normal" | "busy" | "no_answer" | "rejected" | "invalid_number" | "canceled" | "failed">;
  sip_code?: number | null;
  carrier_code?: string | null;
  hung_up_by?: Call["ended_by"];
};

/** A verified delivery. `id` is the same in every attempt: ignore one that you have handled. */
export type WebhookEvent = {
  id: string;
  event: CallEvent["event"] | "webhook.test";
  /** Unix seconds. */
  created: number;
  data: EventData;
};

/** Something said, a tool that was called, or the end. */
export type TranscriptEvent =
  | { event: "line"; line: TranscriptLine }
  | { event: "tool_call"; toolCall: ToolCall }
  | { event: "end"; status: Call["status"] }
  | { event: "unknown"; name: string; data: unknown };

export function transcriptEvent(event: ServerEvent): TranscriptEvent {
  switch (event.event) {
    case "line":
      return { event: "line", line: event.json() };
    case "tool_call":
      return { event: "tool_call", toolCall: event.json() };
    case "end":
      return { event: "end", status: event.json<{ status: Call["status"] }>().status };
    default:
      return { event: "unknown", name: event.event, data: event.json() };
  }
}

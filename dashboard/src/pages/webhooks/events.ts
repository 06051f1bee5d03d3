/** The events of a call, and what they mean. */

import type { components } from "../../api/schema";

export type EventKind = components["schemas"]["EventKind"];

export const EVENTS: { kind: EventKind; meaning: string }[] = [
  { kind: "call.queued", meaning: "accepted" },
  { kind: "call.received", meaning: "somebody calls one of your numbers" },
  { kind: "call.dialing", meaning: "the carrier dials" },
  { kind: "call.in_progress", meaning: "answered" },
  { kind: "carrier.hangup", meaning: "the carrier reports the end" },
  { kind: "call.completed", meaning: "ended, with summary and outcome" },
  { kind: "call.failed", meaning: "no conversation, with the reason" },
];

/** "All events", "2 events" or the event itself. */
export function eventsWords(events: readonly EventKind[]): string {
  if (events.length === 0 || events.length === EVENTS.length) return "All events";
  return events.length === 1 ? (events[0] ?? "") : `${events.length} events`;
}

/** The host of an address, which people know it by. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

/** What was decided about turns, in words. Pure. */
import type { Decision, Evidence } from "../../api/types";
import { duration } from "../../lib/format";
import { plain, type Tone } from "../../lib/words";

export const DECISIONS: Record<Decision["kind"], string> = {
  turn_ended: "Turn ended",
  turn_reopened: "Turn reopened",
  interruption: "Interruption",
  false_interruption: "False interruption",
  backchannel: "Backchannel",
  speculation: "Speculation",
  speculation_discarded: "Speculation discarded",
  machine_ignored: "Machine ignored",
};

/** "1:07.4": several decisions may fall into one second. */
export function decidedAt(ms: number): string {
  return `${duration(ms / 1000)}.${Math.floor((ms % 1000) / 100)}`;
}

/** "420 / 640 ms", the silence that there was and the silence that the evidence asked for; "–" for what did not matter. */
export function silenceWords({ silence_ms, silence_needed_ms }: Decision): string {
  if (silence_ms === null && silence_needed_ms === null) return "–";
  return `${silence_ms ?? "–"} / ${silence_needed_ms ?? "–"} ms`;
}

/** "93 %" */
export function probabilityWords(probability: number | null): string {
  return probability === null ? "–" : `${Math.round(probability * 100)} %`;
}

export type Chip = { name: string; weight: string; tone: Tone };

/** What a piece of evidence added to the odds: its weight, as far as there is any of it. */
export function chip({ name, value, weight }: Evidence): Chip {
  const tenths = Math.round(value * weight * 10);
  const sign = tenths > 0 ? "+" : tenths < 0 ? "−" : "";
  return {
    name: plain(name),
    weight: `${sign}${(Math.abs(tenths) / 10).toFixed(1)}`,
    tone: tenths > 0 ? "good" : tenths < 0 ? "warn" : "neutral",
  };
}

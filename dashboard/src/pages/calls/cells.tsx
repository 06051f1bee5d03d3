/** What a call shows in a row, in the list and on the overview. */
import { Globe, PhoneIncoming, PhoneOutgoing } from "lucide-react";
import { isLive } from "../../api/calls";
import type { Agent, Call } from "../../api/queries";
import { useNow } from "../../components/RelativeTime";
import { duration, milliseconds, phone } from "../../lib/format";
import { endWords } from "../../lib/words";
import styles from "./cells.module.css";

/** The number or address of whoever is at the other end. */
export function otherParty(call: Pick<Call, "direction" | "from" | "to">): string {
  return call.direction === "inbound" ? call.from : call.to;
}

export function isWeb(call: Pick<Call, "direction" | "to">): boolean {
  return (call.direction as string) === "web" || call.to === "web";
}

export function partyName(call: Pick<Call, "direction" | "from" | "to">): string {
  return isWeb(call) ? "Browser" : phone(otherParty(call));
}

export function DirectionIcon({ call }: { call: Pick<Call, "direction" | "to"> }) {
  if (isWeb(call)) return <Globe className={styles.direction} aria-label="From the browser" />;
  return call.direction === "inbound" ? (
    <PhoneIncoming className={styles.direction} aria-label="Inbound" />
  ) : (
    <PhoneOutgoing className={styles.direction} aria-label="Outbound" />
  );
}

/** Counts up while the call lives. */
export function Length({ call }: { call: Call }) {
  if (isLive(call)) return <Running since={call.answered_at ?? call.dialing_at} />;
  return <>{call.answered_at ? duration(call.duration_seconds) : "–"}</>;
}

function Running({ since }: { since: string | null }) {
  const now = useNow();
  if (since === null) return <>–</>;
  return <span className={styles.running}>{duration((now - new Date(since).getTime()) / 1000)}</span>;
}

/** The summary of a call's response times. */
export function responseTimes(call: Call): { p50: number | null; p95: number | null } {
  const waits = call.latency?.response_ms;
  return { p50: waits?.p50 ?? null, p95: waits?.p95 ?? null };
}

export function response(call: Call): string {
  const { p50 } = responseTimes(call);
  return p50 === null ? "–" : milliseconds(p50);
}

export function agentName(agents: Agent[] | undefined, id: string): string {
  if (agents === undefined) return "";
  return agents.find((agent) => agent.id === id)?.name ?? "Deleted agent";
}

export function Ended({ call }: { call: Call }) {
  const words = endWords(call);
  return <span title={call.error_code ?? call.end_reason ?? undefined}>{words}</span>;
}

/**
 * Keeps what is shown fresh while calls live: one stream of the tenant's events for the
 * whole page, and a look every few seconds where there is no stream.
 */
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { renewHead, type CallFilter } from "./calls";
import type { CallEvent } from "./types";
import { at } from "../lib/base";

/** From an event until what it changed is read. */
const GATHER_MS = 400;
/** Between two such reads at least: in a busy tenant, events do not use up the requests of whoever looks on. */
const APART_MS = 2000;
/** Until what could not be read is tried again. */
const FAILED_MS = 5000;
const POLL_MS = 4000;
const AGAIN_MS = 30_000;
const KINDS = [
  "call.queued",
  "call.received",
  "call.dialing",
  "call.in_progress",
  "call.completed",
  "call.failed",
  "carrier.hangup",
];

/** Follows the tenant's calls as long as the shell stands. */
export function useLiveCalls(): void {
  const queries = useQueryClient();
  useEffect(() => follow(queries), [queries]);
}

function follow(queries: QueryClient): () => void {
  const touched = new Set<string>();
  let gather: ReturnType<typeof setTimeout> | undefined;
  let poll: ReturnType<typeof setInterval> | undefined;
  let again: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource | undefined;
  let renewedAt = 0;
  /** Whether anything may have changed, besides the calls that are `touched`. */
  let isStale = false;
  let isStopped = false;

  const renew = async () => {
    clearTimeout(gather);
    gather = undefined;
    renewedAt = Date.now();
    const ids = isStale ? null : new Set(touched);
    isStale = false;
    touched.clear();
    if ((await renewAll(queries, ids)) || isStopped) return;
    isStale ||= ids === null;
    ids?.forEach((id) => touched.add(id));
    gather ??= setTimeout(renew, FAILED_MS);
  };
  const look = () => {
    if (document.visibilityState !== "visible") return;
    isStale = true;
    void renew();
  };
  const open = () => {
    source = new EventSource(at("/v1/events"));
    source.onopen = () => {
      clearInterval(poll);
      poll = undefined;
      // Whatever happened while there was no stream.
      look();
    };
    source.onerror = () => {
      poll ??= setInterval(look, POLL_MS);
      // The browser resumes a broken stream by itself; a refused one is tried again here.
      if (source?.readyState === EventSource.CLOSED) again = setTimeout(open, AGAIN_MS);
    };
    const heard = (message: MessageEvent<string>) => {
      touched.add((JSON.parse(message.data) as CallEvent).call_id);
      gather ??= setTimeout(renew, Math.max(GATHER_MS, renewedAt + APART_MS - Date.now()));
    };
    for (const kind of KINDS) source.addEventListener(kind, heard);
  };
  open();
  return () => {
    isStopped = true;
    source?.close();
    clearTimeout(gather);
    clearTimeout(again);
    clearInterval(poll);
  };
}

/** `ids`: the calls that changed; `null`: nobody knows which. Returns whether the lists are renewed; other queries try again by themselves. */
async function renewAll(queries: QueryClient, ids: ReadonlySet<string> | null): Promise<boolean> {
  const renewals: Promise<unknown>[] = [
    queries.invalidateQueries({ queryKey: ["tenant"] }),
    queries.invalidateQueries({ queryKey: ["calls", "latest"] }),
    queries.invalidateQueries({ queryKey: ["calls", "any"] }),
  ];
  for (const query of queries.getQueryCache().findAll({ queryKey: ["calls"], type: "active" })) {
    const [, name, filter] = query.queryKey;
    if (name === "list") {
      renewals.push(renewHead(queries, filter as CallFilter, ids ?? new Set()));
    } else if (ids === null ? isOpen(query.state.data) : ids.has(String(name))) {
      renewals.push(queries.invalidateQueries({ queryKey: ["calls", name] }));
    }
  }
  const results = await Promise.allSettled(renewals);
  return results.every(({ status }) => status === "fulfilled");
}

/** Whether a call that is shown has not ended, so that looking again may find more. */
function isOpen(data: unknown): boolean {
  const call = data as { status?: string; ended_at?: string | null } | undefined;
  return call?.status !== undefined && call.ended_at === null;
}

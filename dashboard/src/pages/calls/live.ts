import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Call } from "../../api/queries";
import { at } from "../../lib/base";

const POLL_MS = 2000;
const GATHER_MS = 150;

/** Renews a live call's transcript as it is spoken: by its stream, else by looking. */
export function useLiveTranscript(call: Call, live: boolean): void {
  const queries = useQueryClient();
  const talking = live && call.status === "in_progress";
  useEffect(() => {
    if (!talking) return;
    let gather: ReturnType<typeof setTimeout> | undefined;
    let poll: ReturnType<typeof setInterval> | undefined;
    const renew = () => {
      gather = undefined;
      void queries.invalidateQueries({ queryKey: ["calls", call.id, "transcript"] });
    };
    const source = new EventSource(at(`/v1/calls/${call.id}/transcript`));
    const heard = () => {
      gather ??= setTimeout(renew, GATHER_MS);
    };
    source.addEventListener("line", heard);
    source.addEventListener("tool_call", heard);
    source.addEventListener("end", () => {
      source.close();
      void queries.invalidateQueries({ queryKey: ["calls", call.id] });
    });
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) poll ??= setInterval(renew, POLL_MS);
    };
    return () => {
      source.close();
      clearTimeout(gather);
      clearInterval(poll);
    };
  }, [queries, call.id, talking]);
}

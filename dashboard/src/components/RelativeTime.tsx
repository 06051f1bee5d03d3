import { useSyncExternalStore } from "react";
import { absoluteTime, relativeTime } from "../lib/format";

/** One timer for every time on the page. */
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) {
    now = Date.now();
    timer = setInterval(() => {
      now = Date.now();
      for (const each of listeners) each();
    }, 1000);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}

/** The time, to the second, while somebody looks at it. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** "2 minutes ago"; the absolute time with its zone on hover. */
export function RelativeTime({ at, brief }: { at: string; brief?: boolean }) {
  const date = new Date(at);
  const text = useSyncExternalStore(subscribe, () => relativeTime(date, new Date(now), brief));
  return (
    <time dateTime={at} title={absoluteTime(date)}>
      {text}
    </time>
  );
}

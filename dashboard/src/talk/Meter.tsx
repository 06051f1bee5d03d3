import { useEffect, useRef } from "react";
import styles from "./Meter.module.css";
import type { TalkSession } from "./session";
import type { TalkState } from "./talk-state";

const BARS = 27;
/** A new bar every this many milliseconds. */
const STEP_MS = 60;

/** The loudness of whoever speaks, from the middle outwards. */
export function Meter({ session, state }: { session: TalkSession; state: TalkState }) {
  const meter = useRef<HTMLDivElement>(null);
  const isAgent = state.agent === "speaking";
  const isLive = state.phase === "live";
  useEffect(() => {
    const bars = [...(meter.current?.children ?? [])] as HTMLElement[];
    const levels = new Array<number>(Math.ceil(BARS / 2)).fill(0);
    let last = 0;
    let frame = requestAnimationFrame(function draw(time) {
      frame = requestAnimationFrame(draw);
      if (time - last < STEP_MS) return;
      last = time;
      const { microphone, speaker } = session.levels;
      levels.unshift(isLive ? (isAgent ? speaker : microphone) : 0);
      levels.pop();
      bars.forEach((bar, index) => {
        const level = levels[Math.abs(index - (BARS - 1) / 2)] ?? 0;
        bar.style.transform = `scaleY(${Math.max(0.12, level)})`;
      });
    });
    return () => cancelAnimationFrame(frame);
  }, [session, isAgent, isLive]);
  const side = state.muted && !isAgent ? styles.muted : isAgent ? styles.agent : styles.caller;
  return (
    <div ref={meter} className={`${styles.meter} ${side}`} aria-hidden="true">
      {Array.from({ length: BARS }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

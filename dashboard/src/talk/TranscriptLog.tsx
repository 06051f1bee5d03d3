import { useEffect, useRef } from "react";
import { milliseconds } from "../lib/format";
import type { Line } from "./talk-state";
import styles from "./TranscriptLog.module.css";

/** How far from the end counts as reading the end. */
const NEAR_PX = 40;

/** What was said, the newest at the bottom; words that were not heard stand grey. */
export function TranscriptLog({ lines, agentName }: { lines: Line[]; agentName: string }) {
  const log = useRef<HTMLDivElement>(null);
  const followsEnd = useRef(true);
  const follow = () => {
    const element = log.current;
    if (element && followsEnd.current) element.scrollTop = element.scrollHeight;
  };
  useEffect(follow, [lines]);
  useEffect(() => {
    // The keypad takes its room from the log.
    const resized = new ResizeObserver(follow);
    if (log.current) resized.observe(log.current);
    return () => resized.disconnect();
  }, []);
  const onScroll = () => {
    const element = log.current;
    if (!element) return;
    followsEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
  };
  return (
    <div
      ref={log}
      role="log"
      aria-label="Transcript"
      tabIndex={lines.length > 0 ? 0 : undefined}
      className={`${styles.log} ${lines.length === 0 ? styles.empty : ""}`}
      onScroll={onScroll}
    >
      <ol className={styles.lines}>
        {lines.map((line) => (
          <li key={line.id}>
            <p className={styles.head}>
              <span className={line.role === "agent" ? styles.agent : styles.caller}>
                {line.role === "agent" ? agentName : "You"}
              </span>
              {line.latencyMs !== null && (
                <span className={styles.latency} title="From the end of your words to the agent’s first">
                  {milliseconds(line.latencyMs)}
                </span>
              )}
            </p>
            <p className={styles.text}>
              <span className={line.final || line.role === "agent" ? undefined : styles.unheard}>{line.text}</span>
              {line.unheard && (
                <span className={styles.unheard} title="Not heard">
                  {line.unheard}
                </span>
              )}
            </p>
          </li>
        ))}
      </ol>
    </div>
  );
}

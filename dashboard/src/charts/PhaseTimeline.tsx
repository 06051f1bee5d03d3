import { absoluteTime, clock, milliseconds } from "../lib/format";
import styles from "./PhaseTimeline.module.css";

export type Phase = {
  name: string;
  start: Date;
  /** `null`: the last one, or the one that lasts. */
  ms: number | null;
  tone: "before" | "talk" | "good" | "bad";
};

/** The call's phases; their width follows the logarithm of their time. */
export function PhaseTimeline({ phases }: { phases: Phase[] }) {
  return (
    <ol className={styles.phases} aria-label="Phases">
      {phases.map((phase) => (
        <li key={phase.name} className={styles[phase.tone]} style={{ flexGrow: Math.log10(10 + (phase.ms ?? 0)) }}>
          <span className={styles.name}>{phase.name}</span>
          <span className={styles.time} title={absoluteTime(phase.start)}>
            <span className={styles.clock}>{clock(phase.start)}</span>
            {phase.ms !== null && <b>{milliseconds(phase.ms)}</b>}
          </span>
        </li>
      ))}
    </ol>
  );
}

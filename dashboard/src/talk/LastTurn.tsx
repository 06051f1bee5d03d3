import { milliseconds } from "../lib/format";
import styles from "./LastTurn.module.css";
import type { Latency } from "./protocol";

const STAGES: { key: "turnMs" | "modelMs" | "voiceMs" | "playMs"; name: string; className: string | undefined }[] = [
  { key: "turnMs", name: "End of turn", className: styles.turn },
  { key: "modelMs", name: "First token", className: styles.model },
  { key: "voiceMs", name: "First audio", className: styles.voice },
  { key: "playMs", name: "Heard", className: styles.play },
];

/** How long the caller waited for the latest response, and for what. */
export function LastTurn({ latency }: { latency?: Latency }) {
  if (!latency) return null;
  const stages = STAGES.map((stage) => ({ ...stage, ms: latency[stage.key] ?? 0 })).filter(({ ms }) => ms > 0);
  const words = stages.map(({ name, ms }) => `${name} ${milliseconds(ms)}`).join(", ");
  return (
    <div className={styles.turnRow}>
      <p className={styles.figures}>
        <span>Last turn</span>
        <strong>{milliseconds(latency.totalMs)}</strong>
      </p>
      {stages.length > 0 && (
        <div className={styles.bar} role="img" aria-label={words} title={words}>
          {stages.map(({ key, className, ms }) => (
            <span key={key} className={className} style={{ flexGrow: ms }} />
          ))}
        </div>
      )}
    </div>
  );
}

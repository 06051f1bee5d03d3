import type { ReactNode } from "react";
import { statusWords, type Tone } from "../lib/words";
import styles from "./Badge.module.css";

export function Badge(props: { tone?: Tone; dot?: boolean; title?: string; children: ReactNode }) {
  return (
    <span className={`${styles.badge} ${styles[props.tone ?? "neutral"]}`} title={props.title}>
      {props.dot && <span className={styles.dot} />}
      {props.children}
    </span>
  );
}

/** A call's status as a word and a colour. */
export function StatusBadge({ status }: { status: string }) {
  const { word, tone, live } = statusWords(status);
  return (
    <Badge tone={tone} dot={live}>
      {word}
    </Badge>
  );
}

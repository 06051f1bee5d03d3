import type { ReactNode } from "react";
import styles from "./EmptyState.module.css";

/** What stands where rows would: one sentence and the button that brings the first. */
export function EmptyState(props: { icon?: ReactNode; children: ReactNode; action?: ReactNode }) {
  return (
    <div className={styles.empty}>
      {props.icon && <span className={styles.icon}>{props.icon}</span>}
      <p>{props.children}</p>
      {props.action && <div className={styles.action}>{props.action}</div>}
    </div>
  );
}

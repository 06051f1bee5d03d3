import { Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import styles from "./Notice.module.css";

/** A sentence above or inside a card, with what to do about it. */
export function Notice({
  tone = "neutral",
  children,
  action,
}: {
  tone?: "neutral" | "warn" | "bad";
  children: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className={`${styles.notice} ${styles[tone]}`} role={tone === "neutral" ? undefined : "status"}>
      {tone === "neutral" ? <Info aria-hidden="true" /> : <TriangleAlert aria-hidden="true" />}
      <div className={styles.text}>{children}</div>
      {action}
    </div>
  );
}

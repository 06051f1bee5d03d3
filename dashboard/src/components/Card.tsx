import { useId, type ReactNode } from "react";
import styles from "./Card.module.css";

type CardProps = {
  title?: ReactNode;
  /** Stands muted beside the title: a count, say. */
  note?: ReactNode;
  /** At the right of the title: a link, a legend, a figure. */
  action?: ReactNode;
  /** The card's content touches its edges (tables, lists of rows). */
  flush?: boolean;
  children: ReactNode;
};

export function Card({ title, note, action, flush, children }: CardProps) {
  const id = useId();
  return (
    <section className={styles.card} aria-labelledby={title ? id : undefined}>
      {title && (
        <header className={styles.header}>
          <h2 id={id} className={styles.title}>
            {title}
          </h2>
          {note !== undefined && <span className={styles.note}>{note}</span>}
          {action && <div className={styles.action}>{action}</div>}
        </header>
      )}
      <div className={flush ? undefined : styles.body}>{children}</div>
    </section>
  );
}

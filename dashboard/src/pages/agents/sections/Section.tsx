import type { ReactNode } from "react";
import styles from "./Section.module.css";

export interface SectionInfo {
  id: string;
  title: string;
}

export const SECTIONS: SectionInfo[] = [
  { id: "behaviour", title: "Behaviour" },
  { id: "voice", title: "Voice" },
  { id: "listening", title: "Listening" },
  { id: "model", title: "Language model" },
  { id: "tools", title: "Tools" },
  { id: "phone", title: "Phone" },
  { id: "analysis", title: "Analysis" },
  { id: "privacy", title: "Privacy" },
];

/** A part of the editor, which the list at the left leads to. */
export function Section({ id, intro, children }: { id: string; intro?: ReactNode; children: ReactNode }) {
  const title = SECTIONS.find((section) => section.id === id)?.title;
  return (
    <section id={id} className={styles.section} aria-labelledby={`${id}-title`}>
      <header>
        <h2 id={`${id}-title`}>{title}</h2>
        {intro && <p className={styles.intro}>{intro}</p>}
      </header>
      {children}
    </section>
  );
}

/** Two fields side by side where there is room. */
export function Pair({ children }: { children: ReactNode }) {
  return <div className={styles.pair}>{children}</div>;
}

/** Fields that few agents need. */
export function More({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className={styles.more}>
      <summary>{title}</summary>
      <div className={styles.inner}>{children}</div>
    </details>
  );
}

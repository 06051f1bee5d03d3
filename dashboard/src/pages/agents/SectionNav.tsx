import { useEffect, useState } from "react";
import { valueAt, type JsonObject } from "./draft";
import { SECTIONS } from "./sections/Section";
import styles from "./SectionNav.module.css";

/** The first part of the paths that each section holds. */
const PATHS: Record<string, string[]> = {
  behaviour: ["name", "language", "greeting", "instructions", "variables"],
  voice: ["tts"],
  listening: ["stt", "turn_taking", "interruption", "silence"],
  model: ["llm", "realtime"],
  tools: ["tools"],
  phone: ["limits", "answering_machine", "dtmf"],
  analysis: ["analysis"],
  privacy: ["privacy", "recording"],
};

/** The list of sections at the left; the one in view is marked. */
export function SectionNav({ draft, problems }: { draft: JsonObject; problems: Map<string, string> }) {
  const [current, setCurrent] = useState(SECTIONS[0]?.id);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) if (entry.isIntersecting) setCurrent(entry.target.id);
      },
      // A section is current once its top has passed the upper third.
      { rootMargin: "-10% 0px -75% 0px" },
    );
    for (const { id } of SECTIONS) {
      const section = document.getElementById(id);
      if (section) observer.observe(section);
    }
    return () => observer.disconnect();
  }, []);
  const tools = valueAt(draft, "tools");
  const roots = [...problems.keys()].map((path) => path.split(".")[0] ?? "");
  return (
    <nav aria-label="Sections" className={styles.nav}>
      <ul>
        {SECTIONS.map(({ id, title }) => {
          const isWrong = roots.some((root) => PATHS[id]?.includes(root));
          return (
            <li key={id}>
              <a href={`#${id}`} className={styles.link} aria-current={current === id ? "location" : undefined}>
                {title}
                {id === "tools" && Array.isArray(tools) && tools.length > 0 && (
                  <span className={styles.count}>{tools.length}</span>
                )}
                {isWrong && <span className={styles.wrong} role="img" aria-label="Needs attention" />}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

import { CalendarCheck, ClipboardList, PhoneIncoming, PhoneOutgoing, type LucideIcon } from "lucide-react";
import { Link } from "react-router";
import styles from "./TemplateCards.module.css";
import { TEMPLATES } from "./templates";

const ICONS: Record<string, LucideIcon> = {
  reception: PhoneIncoming,
  appointments: CalendarCheck,
  reminder: PhoneOutgoing,
  survey: ClipboardList,
};

/** The templates as cards that lead to a filled-in editor. */
export function TemplateCards({ chosen }: { chosen?: string }) {
  return (
    <ul className={styles.grid}>
      {TEMPLATES.map(({ id, title, description }) => {
        const Icon = ICONS[id] ?? ClipboardList;
        return (
          <li key={id}>
            <Link
              className={styles.card}
              to={`/agents/new?template=${id}`}
              aria-current={chosen === id ? "true" : undefined}
              replace={chosen !== undefined}
            >
              <Icon aria-hidden="true" />
              <span>
                <span className={styles.title}>{title}</span>
                <span className={styles.description}>{description}</span>
              </span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}

import { Link } from "react-router";
import { PROVIDERS } from "./providers";
import { ProviderMark } from "./ProviderMark";
import styles from "./ProviderPicker.module.css";

const GROUPS = ["Phone carriers", "Speech and language", "More"] as const;

/** Every provider as a card that leads to its form. */
export function ProviderPicker() {
  return (
    <div className={styles.groups}>
      {GROUPS.map((group) => (
        <section key={group} aria-label={group}>
          <h2 className={styles.heading}>{group}</h2>
          <ul className={styles.grid}>
            {PROVIDERS.filter((provider) => provider.group === group).map((provider) => (
              <li key={provider.name}>
                <Link className={styles.card} to={`/connections/new?provider=${provider.name}`}>
                  <ProviderMark provider={provider.name} />
                  <span>
                    <span className={styles.title}>{provider.title}</span>
                    <span className={styles.summary}>{provider.summary}</span>
                  </span>
                </Link>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

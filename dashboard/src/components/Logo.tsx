import styles from "./Logo.module.css";

export function Logo() {
  return (
    <span className={styles.logo}>
      <svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
        <rect width="24" height="24" rx="6" className={styles.tile} />
        <g className={styles.mark}>
          <path d="M6 13.5V12a6 6 0 0 1 12 0v1.5" />
          <path d="M6 13.2v2.3a1.2 1.2 0 0 0 2.4 0v-1a1.2 1.2 0 0 0-1.2-1.2zM18 13.2v2.3a1.2 1.2 0 0 1-2.4 0v-1a1.2 1.2 0 0 1 1.2-1.2z" />
        </g>
      </svg>
      Switchhook
    </span>
  );
}

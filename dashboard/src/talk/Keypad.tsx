import { useEffect, useRef } from "react";
import styles from "./Keypad.module.css";

const KEYS = [..."123456789*0#"];

/** The keys of a telephone; the keyboard's own digits work, too. */
export function Keypad({ onPress, onClose }: { onPress: (digit: string) => void; onClose: () => void }) {
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <div
      role="group"
      aria-label="Keypad"
      className={styles.keypad}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
        else if (KEYS.includes(event.key)) onPress(event.key);
      }}
    >
      {KEYS.map((key, index) => (
        <button
          key={key}
          ref={index === 0 ? first : undefined}
          type="button"
          className={styles.key}
          onClick={() => onPress(key)}
        >
          {key}
        </button>
      ))}
    </div>
  );
}

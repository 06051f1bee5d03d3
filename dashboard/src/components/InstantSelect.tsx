import type { UseMutationResult } from "@tanstack/react-query";
import { asApiError } from "../api/errors";
import styles from "./InstantSelect.module.css";

type Properties<Value extends string> = {
  label: string;
  value: Value;
  options: readonly { value: Value; title: string }[];
  change: UseMutationResult<unknown, Error, Value>;
  /** As wide and high as the fields of a form. */
  wide?: boolean;
};

/** A select whose choice is sent at once. Why it was refused stands below. */
export function InstantSelect<Value extends string>({
  label,
  value,
  options,
  change,
  wide = false,
}: Properties<Value>) {
  return (
    <div>
      <span className={wide ? `${styles.select} ${styles.wide}` : styles.select}>
        <select
          aria-label={label}
          value={change.isPending ? change.variables : value}
          onChange={(event) => change.mutate(event.target.value as Value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.title}
            </option>
          ))}
        </select>
      </span>
      {change.isError && (
        <p role="alert" className={styles.error}>
          {asApiError(change.error).detail}
        </p>
      )}
    </div>
  );
}

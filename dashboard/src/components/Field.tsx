import {
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from "react";
import styles from "./Field.module.css";

type Common = {
  label: string;
  /** Below the field, while there is no error. */
  hint?: ReactNode;
  /** The API's message for this field: `error.field("tts.speed")`. */
  error?: string;
  optional?: boolean;
};

function Frame(props: Common & { id: string; children: ReactNode }) {
  return (
    <div className={styles.field}>
      <label htmlFor={props.id} className={styles.label}>
        {props.label}
        {props.optional && <span className={styles.optional}> optional</span>}
      </label>
      {props.children}
      {(props.error ?? props.hint) && (
        <p id={`${props.id}-help`} className={props.error ? styles.error : styles.hint}>
          {props.error ?? props.hint}
        </p>
      )}
    </div>
  );
}

function described(id: string, { error, hint }: Common) {
  return {
    id,
    "aria-invalid": error ? true : undefined,
    "aria-describedby": error || hint ? `${id}-help` : undefined,
    className: styles.control,
  };
}

export function TextField({ label, hint, error, optional, ...rest }: Common & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  const common = { label, hint, error, optional };
  return (
    <Frame id={id} {...common}>
      <input type="text" autoComplete="off" {...rest} {...described(id, common)} />
    </Frame>
  );
}

export function TextArea({
  label,
  hint,
  error,
  optional,
  ...rest
}: Common & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const id = useId();
  const common = { label, hint, error, optional };
  return (
    <Frame id={id} {...common}>
      <textarea rows={4} {...rest} {...described(id, common)} />
    </Frame>
  );
}

/** The browser's own select: `children` are its options. */
export function SelectField({
  label,
  hint,
  error,
  optional,
  ...rest
}: Common & SelectHTMLAttributes<HTMLSelectElement>) {
  const id = useId();
  const common = { label, hint, error, optional };
  return (
    <Frame id={id} {...common}>
      <span className={styles.select}>
        <select {...rest} {...described(id, common)} />
      </span>
    </Frame>
  );
}

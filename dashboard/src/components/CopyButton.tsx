import { Check, Copy } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button } from "./Button";
import styles from "./CopyButton.module.css";

/** Copies `value`; `copied` holds for 1.5 s. */
function useCopy(value: string): [boolean, () => void] {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = () => {
    void navigator.clipboard.writeText(value).then(() => {
      setCopied(true);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => setCopied(false), 1500);
    });
  };
  return [copied, copy];
}

const Announcement = ({ copied }: { copied: boolean }) => (
  <span role="status" className="visually-hidden">
    {copied ? "Copied" : ""}
  </span>
);

/** The button "Copy" beside something long. */
export function CopyButton({ value, label = "Copy" }: { value: string; label?: string }) {
  const [copied, copy] = useCopy(value);
  return (
    <>
      <Button icon={copied ? <Check /> : <Copy />} onClick={copy}>
        {label}
      </Button>
      <Announcement copied={copied} />
    </>
  );
}

/** An id that is its own copy button. */
export function CopyId({ value, shown = value, name }: { value: string; shown?: string; name: string }) {
  const [copied, copy] = useCopy(value);
  return (
    <>
      <button type="button" className={styles.id} onClick={copy} aria-label={`Copy ${name} ${shown}`}>
        <span className={styles.text}>{shown}</span>
        {copied ? <Check className={styles.done} /> : <Copy />}
      </button>
      <Announcement copied={copied} />
    </>
  );
}

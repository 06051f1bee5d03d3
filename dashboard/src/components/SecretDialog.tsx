import type { ReactNode } from "react";
import { Button } from "./Button";
import { CopyButton } from "./CopyButton";
import { Dialog } from "./Dialog";
import styles from "./SecretDialog.module.css";

type SecretDialogProps = {
  open: boolean;
  title: string;
  /** Says that this is the only time. */
  description: string;
  secret: string;
  testId?: string;
  onClose: () => void;
  children?: ReactNode;
};

/** Shows a secret once. It closes only by a button that says what one has done. */
export function SecretDialog({ open, title, description, secret, testId, onClose, children }: SecretDialogProps) {
  return (
    <Dialog
      open={open}
      stay
      wide
      title={title}
      description={description}
      onClose={onClose}
      actions={
        <Button variant="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      <div className={styles.row}>
        <code className={styles.secret} data-testid={testId}>
          {secret}
        </code>
        <CopyButton value={secret} />
      </div>
      {children}
    </Dialog>
  );
}

import { AlertDialog } from "@base-ui/react/alert-dialog";
import { useRef, type ReactNode } from "react";
import { asApiError } from "../api/errors";
import { Button } from "./Button";
import styles from "./Dialog.module.css";
import { ErrorText } from "./ErrorNotice";

type ConfirmProps = {
  open: boolean;
  onClose: () => void;
  /** Names the thing: "Revoke “ci”?" */
  title: string;
  /** The consequence: "Programs that use it get 401 at once." */
  children: ReactNode;
  /** The verb on the button: "Revoke". */
  confirm: string;
  onConfirm: () => void;
  busy?: boolean;
  error?: unknown;
};

/** Asks before something is destroyed; the focus is on Cancel. */
export function ConfirmDialog(props: ConfirmProps) {
  const cancel = useRef<HTMLButtonElement>(null);
  return (
    <AlertDialog.Root open={props.open} onOpenChange={(open) => !open && props.onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={styles.backdrop} />
        <AlertDialog.Popup className={styles.popup} initialFocus={cancel}>
          <header className={styles.header}>
            <AlertDialog.Title className={styles.title}>{props.title}</AlertDialog.Title>
          </header>
          <AlertDialog.Description className={styles.description} render={<div />}>
            {props.children}
          </AlertDialog.Description>
          {props.error !== undefined && props.error !== null && (
            <div className={styles.body}>
              <ErrorText error={asApiError(props.error)} />
            </div>
          )}
          <footer className={styles.actions}>
            <AlertDialog.Close render={<Button ref={cancel}>Cancel</Button>} />
            <Button variant="danger" busy={props.busy} onClick={props.onConfirm}>
              {props.confirm}
            </Button>
          </footer>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

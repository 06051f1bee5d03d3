import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./Button";
import styles from "./Dialog.module.css";

type DialogProps = {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  /** Buttons at the foot, the primary one last. */
  actions?: ReactNode;
  /** Neither Escape nor a click beside it closes it (a secret shown once). */
  stay?: boolean;
  wide?: boolean;
  children?: ReactNode;
};

export function Dialog(props: DialogProps) {
  const close = (open: boolean) => {
    if (!open && !props.stay) props.onClose();
  };
  return (
    <Base.Root open={props.open} onOpenChange={close} disablePointerDismissal={props.stay}>
      <Base.Portal>
        <Base.Backdrop className={styles.backdrop} />
        <Base.Popup className={`${styles.popup} ${props.wide ? styles.wide : ""}`}>
          <header className={styles.header}>
            <Base.Title className={styles.title}>{props.title}</Base.Title>
            {!props.stay && (
              <Base.Close render={<Button variant="ghost" size="small" icon={<X />} aria-label="Close" />} />
            )}
          </header>
          {props.description && (
            <Base.Description className={styles.description} render={<div />}>
              {props.description}
            </Base.Description>
          )}
          {props.children && <div className={styles.body}>{props.children}</div>}
          {props.actions && <footer className={styles.actions}>{props.actions}</footer>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

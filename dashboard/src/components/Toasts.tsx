import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./Button";
import styles from "./Toasts.module.css";

const toasts = Toast.createToastManager();

/**
 * Only for what happened elsewhere or can be undone; anything else is said at the
 * button that did it.
 */
export function toast(text: string, undo?: () => void): void {
  toasts.add({
    title: text,
    timeout: 5000,
    actionProps: undo ? { children: "Undo", onClick: undo } : undefined,
  });
}

export function Toasts({ children }: { children: ReactNode }) {
  return (
    <Toast.Provider toastManager={toasts}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className={styles.viewport}>
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function List() {
  const { toasts: shown } = Toast.useToastManager();
  return shown.map((one) => (
    <Toast.Root key={one.id} toast={one} className={styles.toast}>
      <Toast.Title className={styles.title} />
      {one.actionProps && <Toast.Action render={<Button size="small" />} />}
      <Toast.Close
        render={<Button variant="ghost" size="small" icon={<X />} aria-label="Dismiss" />}
      />
    </Toast.Root>
  ));
}

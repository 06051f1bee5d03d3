/** Opening the dialog "Place call" from anywhere: a button, the palette, "Call again". */
import { Phone } from "lucide-react";
import { lazy, Suspense, useSyncExternalStore } from "react";
import { useSession } from "../../lib/use-session";
import { mayChange } from "../../api/session";
import { Button } from "../../components/Button";

export type Draft = { to?: string; agentId?: string; variables?: Record<string, string | number | boolean> };

const PlaceCallDialog = lazy(() => import("./PlaceCallDialog"));

let draft: Draft | null = null;
const listeners = new Set<() => void>();

function set(next: Draft | null): void {
  draft = next;
  for (const listener of listeners) listener();
}

export function openPlaceCall(start: Draft = {}): void {
  set(start);
}

/** Stands once, in the shell. */
export function PlaceCallHost() {
  const open = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => draft,
  );
  if (open === null) return null;
  return (
    <Suspense fallback={null}>
      <PlaceCallDialog draft={open} onClose={() => set(null)} />
    </Suspense>
  );
}

export function PlaceCallButton(props: {
  draft?: Draft;
  variant?: "primary" | "secondary";
  size?: "small";
  children?: string;
}) {
  const session = useSession();
  return (
    <Button
      variant={props.variant}
      size={props.size}
      icon={<Phone />}
      disabled={!mayChange(session)}
      onClick={() => openPlaceCall(props.draft)}
    >
      {props.children ?? "Place call"}
    </Button>
  );
}

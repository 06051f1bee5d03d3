/** Keys that hold on every page. Pages add their own with `useKeys`. */
import { useEffect, useRef } from "react";
import { useNavigate } from "react-router";

/** G, then one of these. */
const GO: Record<string, string> = {
  o: "/",
  a: "/agents",
  c: "/calls",
  n: "/numbers",
  w: "/webhooks",
  k: "/api-keys",
  u: "/usage",
  s: "/settings",
};
const CHORD_MS = 1200;

/** Whether a key belongs to what somebody is typing in, or to an open dialog. */
function taken(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.isComposing) return true;
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    target.matches("input, textarea, select") ||
    target.closest("[role=dialog], [role=alertdialog]") !== null
  );
}

type Keys = Record<string, ((event: KeyboardEvent) => void) | undefined>;

/**
 * Single keys of a page, by `event.key` ("j", "[", "ArrowLeft"). Off in fields,
 * in dialogs, and with Ctrl, Alt or ⌘.
 */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (taken(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      latest.current[event.key]?.(event);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}

/** Ctrl+S of an editor, in its fields too. */
export function useSaveKey(save: () => void): void {
  const latest = useRef(save);
  useEffect(() => {
    latest.current = save;
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return;
      event.preventDefault();
      latest.current();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}

export function useShortcuts(on: { onPalette: () => void; onHelp: () => void }): void {
  const navigate = useNavigate();
  const chord = useRef(0);
  const latest = useRef(on);
  useEffect(() => {
    latest.current = on;
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        latest.current.onPalette();
        return;
      }
      if (taken(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      const goes = event.timeStamp - chord.current < CHORD_MS;
      chord.current = 0;
      const path = GO[event.key];
      if (goes && path !== undefined) {
        // A page's own key of the same letter must not act as well.
        event.stopImmediatePropagation();
        void navigate(path);
      } else if (event.key === "g") {
        chord.current = event.timeStamp;
      } else if (event.key === "?") {
        latest.current.onHelp();
      }
    };
    window.addEventListener("keydown", listen, { capture: true });
    return () => window.removeEventListener("keydown", listen, { capture: true });
  }, [navigate]);
}

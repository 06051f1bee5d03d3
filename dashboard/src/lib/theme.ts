/** The colour scheme: the system's, unless somebody chose one. */
import { useSyncExternalStore } from "react";

type Theme = "light" | "dark";
const system = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function current(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return system.matches ? "dark" : "light";
}

function announce(): void {
  for (const listener of listeners) listener();
}
system.addEventListener("change", announce);

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, current);
}

/** Chooses the other scheme; choosing the system's own forgets the choice. */
export function toggleTheme(): void {
  const next: Theme = current() === "dark" ? "light" : "dark";
  const own = next === (system.matches ? "dark" : "light");
  try {
    if (own) localStorage.removeItem("theme");
    else localStorage.setItem("theme", next);
  } catch {
    // Storage is refused: the choice holds for this page.
  }
  if (own) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  announce();
}

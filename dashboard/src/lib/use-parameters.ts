import { useSearchParams, type NavigateOptions } from "react-router";

/** Parameters to set, or to remove where the value is `null` or empty. */
export type Parameters = Record<string, string | null>;

/**
 * The search parameters of the address as rendered, and what changes them. A change builds on the address as it stands: it changes
 * before it is rendered, and a filter chosen in between must neither undo another nor open what was closed.
 */
export function useParameters(options?: NavigateOptions): [URLSearchParams, (changes: Parameters) => void] {
  const [search, setSearch] = useSearchParams();
  return [search, (changes) => setSearch(withParameters(window.location.search, changes), options)];
}

/** The search parameters `search` with these changes. */
export function withParameters(search: string, changes: Parameters): URLSearchParams {
  const next = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  return next;
}

/** The token of an invitation's link: whoever has it and the invited address may answer. */

import { at } from "../../lib/base";

const KEY = "invitation";

/**
 * Takes the token out of the address, and out of the history of the tab, before anything else reads it. The tab remembers it while the
 * person signs in, until the invitation is answered.
 */
export function keepToken(): void {
  const { pathname, hash } = window.location;
  if (pathname !== at("/invitation") || hash.length < 2) return;
  window.sessionStorage.setItem(KEY, hash.slice(1));
  window.history.replaceState(window.history.state, "", pathname);
}

export function keptToken(): string | null {
  return window.sessionStorage.getItem(KEY);
}

export function forgetToken(): void {
  window.sessionStorage.removeItem(KEY);
}

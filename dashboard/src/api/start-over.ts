/**
 * The tabs of a browser share a session. When it moves to another tenant in one of them, all load anew, so that nobody works in another
 * tenant than the page shows, and nothing of the earlier one stays in a page's memory.
 */

import { at } from "../lib/base";

/** One for both ways: a channel does not hear itself, so that a tab that starts over loads once. */
const channel = new BroadcastChannel("tenant");

/** Called when the session has moved. */
export function startOver(): void {
  channel.postMessage(null);
  load();
}

/** Starts over when another tab does. */
export function followOtherTabs(): void {
  channel.onmessage = load;
}

function load(): void {
  window.location.assign(at("/"));
}

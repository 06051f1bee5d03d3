/**
 * The tabs of a browser share a session. When it moves to another tenant in one of them, all load anew, so that nobody works in another
 * tenant than the page shows, and nothing of the earlier one stays in a page's memory.
 */

import { at } from "../lib/base";

const CHANNEL = "tenant";

/** Called when the session has moved. */
export function startOver(): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(null);
  channel.close();
  window.location.assign(at("/"));
}

/** Starts over when another tab does. */
export function followOtherTabs(): void {
  new BroadcastChannel(CHANNEL).onmessage = () => window.location.assign(at("/"));
}

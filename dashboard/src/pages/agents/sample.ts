/** Plays a voice's sample, one at a time. */

import { ApiError } from "../../api/errors";

let context: AudioContext | null = null;
let source: AudioBufferSourceNode | null = null;

/**
 * Fetches a sample and starts it. It is decoded rather than put into an audio element, as the page's content security
 * policy allows no blob addresses.
 */
export async function playSample(address: string, onEnd: () => void): Promise<void> {
  context ??= new AudioContext();
  const isRunning = context.resume();
  const response = await fetch(address, {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  if (!response.ok) throw new ApiError(response.status, (await response.json().catch(() => ({}))) as object);
  const buffer = await context.decodeAudioData(await response.arrayBuffer());
  await isRunning;
  stopSample();
  const next = context.createBufferSource();
  next.buffer = buffer;
  next.connect(context.destination);
  next.onended = onEnd;
  next.start();
  source = next;
}

export function stopSample(): void {
  if (!source) return;
  source.onended = null;
  source.stop();
  source = null;
}

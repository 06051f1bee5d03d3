/** What the socket of a listener brings. Pure. */

/** How the audio of the call is sampled; `null` for a text that is no start. */
export function parseStart(text: string): { sampleRate: number } | null {
  try {
    const start = JSON.parse(text) as { type?: unknown; sample_rate?: unknown } | null;
    const rate = start?.type === "start" ? Number(start.sample_rate) : NaN;
    return rate > 0 ? { sampleRate: rate } : null;
  } catch {
    return null;
  }
}

/** Both sides of 16 bit stereo PCM in one, as on a telephone. */
export function mixed(stereo: ArrayBuffer): ArrayBuffer {
  const sides = new Int16Array(stereo);
  const one = new Int16Array(sides.length >> 1);
  for (let i = 0; i < one.length; i++) {
    const sum = (sides[2 * i] ?? 0) + (sides[2 * i + 1] ?? 0);
    one[i] = Math.max(-32_768, Math.min(32_767, sum));
  }
  return one.buffer;
}

/** A recording's peaks, read in slices so that drawing begins before all of it is here. */
import { useEffect, useState } from "react";
import { Peaks, wavFormat } from "../../lib/peaks";
import { at } from "../../lib/base";

const SLICE = 512 * 1024;
const KEPT = 8;
const kept = new Map<string, Peaks>();

type Read = { peaks: Peaks | null; error: boolean };

/** The peaks of `address`; they grow until all of it is read. */
export function usePeaks(address: string): Read {
  const [read, setRead] = useState<Read>({ peaks: kept.get(address) ?? null, error: false });
  useEffect(() => {
    const known = kept.get(address);
    if (known) {
      setRead({ peaks: known, error: false });
      return;
    }
    const stop = new AbortController();
    void readPeaks(address, stop.signal, (peaks) => setRead({ peaks, error: false })).catch(() => {
      if (!stop.signal.aborted) setRead({ peaks: null, error: true });
    });
    return () => stop.abort();
  }, [address]);
  return read;
}

async function readPeaks(address: string, signal: AbortSignal, grown: (peaks: Peaks) => void) {
  let from = 0;
  let size = Infinity;
  let peaks: Peaks | null = null;
  while (from < size) {
    const headers = { range: `bytes=${from}-${from + SLICE - 1}` };
    const answer = await fetch(at(address), { headers, signal, credentials: "same-origin" });
    if (!answer.ok) throw new Error(`the recording answered with ${answer.status}`);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const whole = Number(answer.headers.get("content-range")?.split("/")[1]);
    size = Number.isFinite(whole) ? whole : from + bytes.length;
    let start = 0;
    if (peaks === null) {
      const format = wavFormat(bytes.buffer);
      if (format === null) throw new Error("the recording is no PCM16 WAV file");
      peaks = new Peaks(format);
      start = format.dataOffset;
    }
    peaks.add(bytes.subarray(start));
    from += bytes.length;
    if (bytes.length === 0) break;
  }
  if (peaks === null) return;
  kept.set(address, peaks);
  const oldest = kept.keys().next().value;
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
  grown(peaks);
}

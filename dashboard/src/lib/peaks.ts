/** The loudness of a recording for drawing: one value per 20 ms and channel. Pure. */

export type WavFormat = { dataOffset: number; channels: number; rate: number };
export const PEAK_MS = 20;

/** The format of a PCM16 WAV file from its first bytes; `null` if it is anything else. */
export function wavFormat(head: ArrayBuffer): WavFormat | null {
  const view = new DataView(head);
  if (head.byteLength < 44 || tag(view, 0) !== "RIFF" || tag(view, 8) !== "WAVE") return null;
  let at = 12;
  let format: Omit<WavFormat, "dataOffset"> | null = null;
  while (at + 8 <= head.byteLength) {
    const name = tag(view, at);
    if (name === "fmt " && at + 24 <= head.byteLength) {
      const pcm16 = view.getUint16(at + 8, true) === 1 && view.getUint16(at + 22, true) === 16;
      if (!pcm16) return null;
      format = { channels: view.getUint16(at + 10, true), rate: view.getUint32(at + 12, true) };
    }
    if (name === "data") return format && { ...format, dataOffset: at + 8 };
    const size = view.getUint32(at + 4, true);
    at += 8 + size + (size % 2);
  }
  return null;
}

function tag(view: DataView, at: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((byte) => view.getUint8(at + byte)));
}

/** Takes a recording in slices of any size and keeps the loudest sample of each 20 ms. */
export class Peaks {
  readonly lanes: number[][];
  private readonly format: WavFormat;
  private readonly perPeak: number;
  private rest = new Uint8Array(0);
  private taken = 0;

  constructor(format: WavFormat) {
    this.format = format;
    this.lanes = Array.from({ length: format.channels }, () => []);
    this.perPeak = Math.round((format.rate * PEAK_MS) / 1000);
  }

  /** The length of what was taken so far. */
  get seconds(): number {
    return this.taken / this.format.rate;
  }

  add(slice: Uint8Array): void {
    const bytes = new Uint8Array(this.rest.length + slice.length);
    bytes.set(this.rest);
    bytes.set(slice, this.rest.length);
    const { channels } = this.format;
    const frame = channels * 2;
    const frames = Math.floor(bytes.length / frame);
    const view = new DataView(bytes.buffer);
    for (let index = 0; index < frames; index += 1) {
      const peak = Math.floor((this.taken + index) / this.perPeak);
      for (let channel = 0; channel < channels; channel += 1) {
        const sample = Math.abs(view.getInt16(index * frame + channel * 2, true)) / 32768;
        const lane = this.lanes[channel];
        if (lane) lane[peak] = Math.max(lane[peak] ?? 0, sample);
      }
    }
    this.taken += frames;
    this.rest = bytes.slice(frames * frame);
  }
}

/** `count` bars over a lane, each the loudest of its part, between 0 and 1. */
export function bars(lane: number[], count: number): number[] {
  const loudest = lane.reduce((max, value) => Math.max(max, value), 0.05);
  return Array.from({ length: count }, (_, bar) => {
    const from = Math.floor((bar * lane.length) / count);
    const to = Math.max(from + 1, Math.floor(((bar + 1) * lane.length) / count));
    let top = 0;
    for (let at = from; at < to; at += 1) top = Math.max(top, lane[at] ?? 0);
    // Speech is drawn by its square root: whispers are seen, shouts stay in the lane.
    return Math.sqrt(top / loudest);
  });
}

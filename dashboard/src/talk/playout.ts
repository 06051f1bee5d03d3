/** The agent's audio between the socket and the loudspeaker: a short queue with marks in it. Pure. */

/** Audio that waits before the first sample plays, so that a late frame leaves no gap. */
const PRIME_MS = 40;
/** More than this is never queued: the conversation would lag behind, and an interruption with it. */
const LIMIT_MS = 200;

/** A mark, and how many samples are to be played before it. */
interface Mark {
  name: string;
  at: number;
}

/** A queue of samples; the marks between them are due once everything before them was played. */
export class Playout {
  private blocks: Float32Array[] = [];
  /** Samples of the first block that were already read. */
  private offset = 0;
  private queued = 0;
  private marks: Mark[] = [];
  private priming = true;
  /** Samples of silence that were played while priming. */
  private waited = 0;
  private readonly prime: number;
  private readonly limit: number;

  constructor(sampleRate: number) {
    this.prime = (sampleRate * PRIME_MS) / 1000;
    this.limit = (sampleRate * LIMIT_MS) / 1000;
  }

  /** Samples that wait to be played. */
  get length(): number {
    return this.queued;
  }

  /** Queues audio; the oldest is dropped where it would become too much. */
  push(samples: Float32Array): void {
    if (samples.length === 0) return;
    this.blocks.push(samples);
    this.queued += samples.length;
    if (this.queued > this.limit) this.skip(this.queued - this.limit);
  }

  /** Queues a mark behind the audio so far. */
  mark(name: string): void {
    this.marks.push({ name, at: this.queued });
  }

  /** Drops everything that was not played, with its marks: what was not played was not heard. */
  clear(): void {
    this.blocks = [];
    this.offset = 0;
    this.queued = 0;
    this.priming = true;
    this.waited = 0;
    this.marks = [];
  }

  /** Fills `output` with the next samples, silence where there are none, and returns the marks that are due. */
  read(output: Float32Array): string[] {
    output.fill(0);
    if (!this.isPrimed(output.length)) return this.queued === 0 ? this.due() : [];
    let filled = 0;
    while (filled < output.length) {
      const block = this.blocks[0];
      if (!block) break;
      const part = block.subarray(this.offset, this.offset + output.length - filled);
      output.set(part, filled);
      filled += part.length;
      this.skip(part.length);
    }
    if (filled < output.length) {
      this.priming = true;
      this.waited = 0;
    }
    return this.due();
  }

  private isPrimed(samples: number): boolean {
    if (this.queued > 0 && this.priming) {
      this.priming = this.queued < this.prime && this.waited < this.prime;
      this.waited += samples;
    }
    return !this.priming;
  }

  private skip(samples: number): void {
    this.queued -= samples;
    for (const mark of this.marks) mark.at -= samples;
    this.offset += samples;
    for (let first = this.blocks[0]; first && this.offset >= first.length; first = this.blocks[0]) {
      this.offset -= first.length;
      this.blocks.shift();
    }
  }

  private due(): string[] {
    const due = this.marks.filter((mark) => mark.at <= 0 || this.queued === 0);
    this.marks = this.marks.filter((mark) => !due.includes(mark));
    return due.map((mark) => mark.name);
  }
}

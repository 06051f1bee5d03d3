/**
 * Sample rate conversion for the audio worklets, by a windowed sinc whose cut-off lies below the lower rate's
 * Nyquist frequency. Browsers run their audio at the device's rate, and Firefox refuses to join a context of 16 kHz
 * to a microphone of 48 kHz, so the conversion is done here.
 */

/** Zero crossings of the sinc on each side: the width of the filter, and with it the steepness of its edge. */
const CROSSINGS = 16;
/** Entries of the table between two zero crossings; values in between are interpolated. */
const RESOLUTION = 128;
/** The cut-off as a part of the lower Nyquist frequency, which leaves room for the edge of the filter. */
const CUTOFF = 0.9;

/** The kernel from its centre outwards, with a Blackman window. */
const KERNEL = kernel();

function kernel(): Float32Array {
  const table = new Float32Array(CROSSINGS * RESOLUTION + 2);
  for (let i = 0; i <= CROSSINGS * RESOLUTION; i++) {
    const x = i / RESOLUTION;
    const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
    const phase = (Math.PI * x) / CROSSINGS;
    table[i] = sinc * (0.42 + 0.5 * Math.cos(phase) + 0.08 * Math.cos(2 * phase));
  }
  return table;
}

/** Converts a stream of samples from one rate to another, block by block. */
export class Resampler {
  /** Input samples per output sample. */
  private readonly step: number;
  /** The kernel's argument per input sample. */
  private readonly scale: number;
  /** Input samples that the kernel reaches to each side. */
  private readonly reach: number;
  /** Input that is still within reach of output to come. */
  private history = new Float32Array(0);
  /** Where the next output sample lies, in samples of `history`. */
  private position: number;

  constructor(from: number, to: number) {
    this.step = from / to;
    this.scale = CUTOFF * Math.min(1, to / from);
    this.reach = Math.ceil(CROSSINGS / this.scale);
    this.history = new Float32Array(this.reach);
    this.position = this.reach;
  }

  /** Takes the next block and returns the output that is complete with it. */
  push(block: Float32Array): Float32Array {
    const input = new Float32Array(this.history.length + block.length);
    input.set(this.history);
    input.set(block, this.history.length);
    const count = Math.max(0, Math.ceil((input.length - this.reach - this.position) / this.step));
    const output = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      output[i] = this.at(input, this.position + i * this.step);
    }
    const next = this.position + count * this.step;
    const used = Math.max(0, Math.floor(next) - this.reach);
    this.history = input.slice(used);
    this.position = next - used;
    return output;
  }

  private at(input: Float32Array, position: number): number {
    const first = Math.ceil(position - this.reach);
    const last = Math.floor(position + this.reach);
    let sum = 0;
    for (let i = first; i <= last; i++) {
      const place = Math.abs(i - position) * this.scale * RESOLUTION;
      const entry = Math.floor(place);
      const low = KERNEL[entry] ?? 0;
      const high = KERNEL[entry + 1] ?? 0;
      sum += (input[i] ?? 0) * (low + (high - low) * (place - entry));
    }
    return sum * this.scale;
  }
}

/** To 16-bit samples; what is too loud is clipped. */
export function toPcm16(samples: Float32Array): Int16Array {
  return Int16Array.from(samples, (sample) => Math.max(-1, Math.min(1, sample)) * 32767);
}

/** From 16-bit samples. */
export function fromPcm16(samples: Int16Array): Float32Array {
  return Float32Array.from(samples, (sample) => sample / 32768);
}

/** How loud a block is, from 0 to 1 on a scale of 50 dB, as a meter shows it. */
export function loudness(samples: Float32Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  const rms = Math.sqrt(sum / Math.max(1, samples.length));
  return Math.max(0, Math.min(1, 1 + (20 * Math.log10(rms + 1e-9)) / 50));
}

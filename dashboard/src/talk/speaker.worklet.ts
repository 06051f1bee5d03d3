/** Plays PCM, at the 16 kHz of the agent or the rate it is made for, and tells the page which marks were passed and how loud it is. */

import { Playout } from "./playout";
import { fromPcm16, loudness, Resampler } from "./resample";
import type { SpeakerInput, SpeakerOutput } from "./audio";

const RATE = 16_000;
/** Blocks of 128 samples between two reports of the loudness. */
const REPORT_EVERY = 16;

class Speaker extends AudioWorkletProcessor {
  private readonly rate: number;
  private resampler: Resampler;
  private readonly playout = new Playout(sampleRate);
  private blocks = 0;
  private loudest = 0;

  constructor(options?: AudioWorkletNodeOptions) {
    super();
    const { rate } = (options?.processorOptions ?? {}) as { rate?: number };
    this.rate = rate ?? RATE;
    this.resampler = new Resampler(this.rate, sampleRate);
    this.port.onmessage = (event: MessageEvent<SpeakerInput>) => this.take(event.data);
  }

  override process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const output = outputs[0]?.[0];
    if (!output) return true;
    this.passed(this.playout.read(output));
    // What comes over WebRTC; one of the two is silent.
    inputs[0]?.[0]?.forEach((sample, i) => (output[i] = (output[i] ?? 0) + sample));
    this.loudest = Math.max(this.loudest, loudness(output));
    if (++this.blocks % REPORT_EVERY === 0) {
      this.tell({ type: "loudness", loudness: this.loudest });
      this.loudest = 0;
    }
    return true;
  }

  private take(input: SpeakerInput): void {
    switch (input.type) {
      case "audio":
        this.playout.push(this.resampler.push(fromPcm16(new Int16Array(input.pcm))));
        break;
      case "mark":
        this.playout.mark(input.name);
        break;
      case "clear":
        // What the filter still holds belongs to the words that are dropped.
        this.resampler = new Resampler(this.rate, sampleRate);
        this.playout.clear();
        break;
    }
  }

  private passed(marks: string[]): void {
    for (const name of marks) this.tell({ type: "mark", name });
  }

  private tell(output: SpeakerOutput): void {
    this.port.postMessage(output);
  }
}

registerProcessor("speaker", Speaker);

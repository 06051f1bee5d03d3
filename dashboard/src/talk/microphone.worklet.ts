/** Sends the microphone to the page as 16 kHz PCM in frames of 20 ms, with their loudness. */

import { loudness, Resampler, toPcm16 } from "./resample";

const RATE = 16_000;
const FRAME = RATE / 50;

class Microphone extends AudioWorkletProcessor {
  private readonly resampler = new Resampler(sampleRate, RATE);
  private frame = new Float32Array(FRAME);
  private filled = 0;

  override process(inputs: Float32Array[][]): boolean {
    const channel = inputs[0]?.[0];
    if (channel) this.take(this.resampler.push(channel));
    return true;
  }

  private take(samples: Float32Array): void {
    for (const sample of samples) {
      this.frame[this.filled++] = sample;
      if (this.filled === FRAME) {
        const pcm = toPcm16(this.frame).buffer;
        this.port.postMessage({ pcm, loudness: loudness(this.frame) }, [pcm]);
        this.filled = 0;
      }
    }
  }
}

registerProcessor("microphone", Microphone);

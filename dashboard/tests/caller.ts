/** The person at the microphone, who says recorded lines. */
import { expect, type Page } from "@playwright/test";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** What Chromium's fake microphone plays once, from the moment a page opens it; it is read then. */
export const RECORDING = resolve("tests/out/caller.wav");
/** The lines of the simulated caller, µ-law at 8 kHz. */
const LINES = "../crates/caller-audio/assets";
const RATE = 8_000;
const BIAS = 0x84;
/** How long an answer of the agent may take, spoken to its end, on a busy machine. */
export const ANSWER_MS = 60_000;

type Line = "name" | "day" | "time" | "people" | "yes" | "interrupt";
/** Where a page's microphone gets its sound. */
type Mouth = { mouth?: { context: AudioContext; stream: MediaStreamAudioDestinationNode } };

/**
 * Speaks when a test says so, however slow the machine is. What is said goes into the page's microphone beside what
 * Chromium's fake one plays; the page opens that as ever, and cannot tell.
 */
export class Caller {
  private constructor(readonly page: Page) {}

  /** Sits down at the microphone of whatever the page loads next. */
  static async at(page: Page): Promise<Caller> {
    await page.addInitScript(() => {
      const { mediaDevices } = navigator;
      if (!mediaDevices) return;
      let context: AudioContext | undefined;
      window.AudioContext = class extends AudioContext {
        constructor(options?: AudioContextOptions) {
          super(options);
          context = this;
        }
      };
      const open = mediaDevices.getUserMedia.bind(mediaDevices);
      mediaDevices.getUserMedia = async (constraints) => {
        const device = await open(constraints);
        // The page's own context: a second one has a clock of its own, and sound between two clocks has gaps.
        if (!context) throw new Error("the page opened its microphone before its AudioContext");
        const stream = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
        context.createMediaStreamSource(device).connect(stream);
        (window as Mouth).mouth = { context, stream };
        return stream.stream;
      };
    });
    return new Caller(page);
  }

  /** Says a line, to its end. */
  async says(line: Line): Promise<void> {
    await this.page.evaluate(
      async (wav) => {
        const { mouth } = window as Mouth;
        if (!mouth) throw new Error("the microphone is not open");
        const bytes = Uint8Array.from(atob(wav), (byte) => byte.charCodeAt(0));
        const buffer = await mouth.context.decodeAudioData(bytes.buffer);
        const source = new AudioBufferSourceNode(mouth.context, { buffer });
        const isSaid = new Promise((said) => source.addEventListener("ended", said));
        source.connect(mouth.stream);
        source.start();
        await isSaid;
      },
      wave(samplesOf(line)).toString("base64"),
    );
  }

  /** Says a line once the agent has said these words: they stand in the transcript when they were heard to their end. */
  async answers(words: string, line: Line): Promise<void> {
    await expect(this.page.getByRole("log")).toContainText(words, { timeout: ANSWER_MS });
    await this.says(line);
  }
}

/** Writes what the fake microphone plays: each line after that many seconds of silence, and then nothing. */
export function callerSays(...lines: { afterSeconds: number; line: Line }[]): void {
  const samples = lines.flatMap(({ afterSeconds, line }) => [...silence(afterSeconds), ...samplesOf(line)]);
  mkdirSync(dirname(RECORDING), { recursive: true });
  // Replaced as a whole: the browser of another run may be reading it.
  const written = `${RECORDING}.${process.pid}`;
  writeFileSync(written, wave([...samples, ...silence(1)]));
  renameSync(written, RECORDING);
}

function silence(seconds: number): number[] {
  return new Array<number>(seconds * RATE).fill(0);
}

function samplesOf(line: Line): number[] {
  return [...readFileSync(`${LINES}/${line}.ulaw`)].map(decode);
}

/** One sample of µ-law. */
function decode(byte: number): number {
  const inverted = ~byte & 0xff;
  const exponent = (inverted >> 4) & 7;
  const magnitude = ((((inverted & 15) << 3) + BIAS) << exponent) - BIAS;
  return inverted & 0x80 ? -magnitude : magnitude;
}

/** A WAV file. */
function wave(samples: number[]): Buffer {
  const wav = Buffer.alloc(44 + 2 * samples.length);
  wav.write("RIFF", 0);
  wav.writeUInt32LE(36 + 2 * samples.length, 4);
  wav.write("WAVEfmt ", 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(RATE, 24);
  wav.writeUInt32LE(2 * RATE, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write("data", 36);
  wav.writeUInt32LE(2 * samples.length, 40);
  samples.forEach((sample, i) => wav.writeInt16LE(sample, 44 + 2 * i));
  return wav;
}

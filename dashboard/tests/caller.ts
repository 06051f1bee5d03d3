/** The person at the microphone: recorded lines, each after a pause, as Chromium's fake microphone plays them. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** What Chromium plays once, from the moment a page opens the microphone; it is read then. */
export const RECORDING = resolve("tests/out/caller.wav");
/** The lines of the simulated caller, µ-law at 8 kHz. */
const LINES = "../crates/recordings/assets";
const RATE = 8_000;
const BIAS = 0x84;

type Line = "name" | "day" | "time" | "people" | "yes" | "interrupt";

/** One sample of µ-law. */
function decode(byte: number): number {
  const inverted = ~byte & 0xff;
  const exponent = (inverted >> 4) & 7;
  const magnitude = ((((inverted & 15) << 3) + BIAS) << exponent) - BIAS;
  return inverted & 0x80 ? -magnitude : magnitude;
}

/** Writes what the caller says, each line after that many seconds of silence, and then nothing. */
export function callerSays(...lines: { afterSeconds: number; line: Line }[]): void {
  const samples = lines.flatMap(({ afterSeconds, line }) => [
    ...new Array<number>(afterSeconds * RATE).fill(0),
    ...[...readFileSync(`${LINES}/${line}.ulaw`)].map(decode),
  ]);
  samples.push(...new Array<number>(RATE).fill(0));
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
  mkdirSync(dirname(RECORDING), { recursive: true });
  writeFileSync(RECORDING, wav);
}

/** A caller on tape: the recorded lines of the simulated caller, with room for the agent's answers between them. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const LINES = "../crates/recordings/assets";
const RATE = 8_000;
/** The telephone's own coding of a sample. */
const BIAS = 0x84;

function decode(byte: number): number {
  const inverted = ~byte & 0xff;
  const exponent = (inverted >> 4) & 7;
  const magnitude = ((((inverted & 15) << 3) + BIAS) << exponent) - BIAS;
  return inverted & 0x80 ? -magnitude : magnitude;
}

/** Writes the tape: each line follows that many seconds of silence. */
export function writeCallerTrack(file: string, lines: { afterSeconds: number; line: string }[]): void {
  const samples = lines.flatMap(({ afterSeconds, line }) => [
    ...new Array<number>(afterSeconds * RATE).fill(0),
    ...[...readFileSync(`${LINES}/${line}.ulaw`)].map(decode),
  ]);
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
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, wav);
}

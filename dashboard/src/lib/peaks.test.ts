import { expect, test } from "vitest";
import { bars, Peaks, wavFormat } from "./peaks";

/** A stereo recording at 8 kHz whose frames `at` gives. */
function recording(frames: number, at: (frame: number) => [number, number]): Uint8Array {
  const bytes = new Uint8Array(44 + frames * 4);
  const view = new DataView(bytes.buffer);
  const text = (offset: number, value: string) =>
    [...value].forEach((letter, index) => view.setUint8(offset + index, letter.charCodeAt(0)));
  text(0, "RIFF");
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 2, true);
  view.setUint32(24, 8000, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, frames * 4, true);
  for (let frame = 0; frame < frames; frame += 1) {
    const [left, right] = at(frame);
    view.setInt16(44 + frame * 4, left, true);
    view.setInt16(46 + frame * 4, right, true);
  }
  return bytes;
}

test("each channel's loudest sample of every 20 ms, however the file is sliced", () => {
  const file = recording(480, (frame) => [frame === 200 ? -16384 : 0, frame >= 320 ? 8192 : 0]);
  const format = wavFormat(file.buffer as ArrayBuffer);
  expect(format).toEqual({ dataOffset: 44, channels: 2, rate: 8000 });
  for (const size of [1, 3, 1000, 4000]) {
    const peaks = new Peaks(format!);
    for (let at = 44; at < file.length; at += size) peaks.add(file.subarray(at, at + size));
    expect(peaks.lanes).toEqual([
      [0, 0.5, 0],
      [0, 0, 0.25],
    ]);
    expect(peaks.seconds).toBeCloseTo(0.06);
  }
});

test("what is no PCM16 recording has no format", () => {
  expect(wavFormat(new ArrayBuffer(10))).toBeNull();
  const file = recording(1, () => [0, 0]);
  new DataView(file.buffer).setUint16(20, 7, true);
  expect(wavFormat(file.buffer as ArrayBuffer)).toBeNull();
});

test("bars keep the loudest and are seen when soft", () => {
  expect(bars([0, 1, 0, 0.25], 2)).toEqual([1, 0.5]);
  expect(bars([], 3)).toEqual([0, 0, 0]);
});

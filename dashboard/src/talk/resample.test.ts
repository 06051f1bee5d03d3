import { describe, expect, test } from "vitest";
import { fromPcm16, loudness, Resampler, toPcm16 } from "./resample";

function tone(frequency: number, rate: number, seconds: number): Float32Array {
  return Float32Array.from({ length: rate * seconds }, (_, i) => 0.5 * Math.sin((2 * Math.PI * frequency * i) / rate));
}

/** Converts in blocks as the worklet gets them. */
function convert(input: Float32Array, from: number, to: number, block = 128): Float32Array {
  const resampler = new Resampler(from, to);
  const parts: number[] = [];
  for (let i = 0; i < input.length; i += block) parts.push(...resampler.push(input.slice(i, i + block)));
  return Float32Array.from(parts);
}

/** The amplitude of one frequency, without the filter's first milliseconds. */
function amplitude(samples: Float32Array, frequency: number, rate: number): number {
  const steady = samples.slice(rate / 50, samples.length - rate / 50);
  let re = 0;
  let im = 0;
  steady.forEach((sample, i) => {
    re += sample * Math.cos((2 * Math.PI * frequency * i) / rate);
    im += sample * Math.sin((2 * Math.PI * frequency * i) / rate);
  });
  return (2 * Math.hypot(re, im)) / steady.length;
}

describe.each([
  [48_000, 16_000],
  [44_100, 16_000],
  [16_000, 48_000],
  [16_000, 44_100],
  [16_000, 16_000],
  [8_000, 16_000],
])("from %i to %i samples a second", (from, to) => {
  test("speech keeps its loudness", () => {
    const output = convert(tone(1_000, from, 1), from, to);
    expect(amplitude(output, 1_000, to)).toBeCloseTo(0.5, 2);
  });

  test("a second stays a second, to within the filter's delay", () => {
    const output = convert(tone(440, from, 1), from, to);
    expect(output.length).toBeGreaterThan(to * 0.995);
    expect(output.length).toBeLessThanOrEqual(to);
  });

  test("the size of the blocks does not matter", () => {
    const input = tone(700, from, 0.25);
    const whole = convert(input, from, to, input.length);
    const pieces = convert(input, from, to, 77);
    expect(pieces.length).toBe(whole.length);
    pieces.forEach((sample, i) => expect(sample).toBeCloseTo(whole[i] ?? Number.NaN, 3));
  });
});

test("sound above the new rate's range does not come back as an alias", () => {
  const output = convert(tone(11_000, 48_000, 1), 48_000, 16_000);
  expect(amplitude(output, 5_000, 16_000)).toBeLessThan(0.001);
});

test("raising the rate adds no image of the sound", () => {
  const output = convert(tone(3_000, 16_000, 1), 16_000, 48_000);
  expect(amplitude(output, 13_000, 48_000)).toBeLessThan(0.001);
});

test("16-bit samples survive the way there and back, and loud ones are clipped", () => {
  expect([...toPcm16(Float32Array.of(0, 0.5, 1, 2, -2))]).toEqual([0, 16383, 32767, 32767, -32767]);
  const back = fromPcm16(Int16Array.of(-32768, 0, 16384));
  expect([...back]).toEqual([-1, 0, 0.5]);
});

test("the meter is empty in silence and full at full scale", () => {
  expect(loudness(new Float32Array(320))).toBe(0);
  expect(loudness(new Float32Array(320).fill(1))).toBeCloseTo(1, 5);
  expect(loudness(new Float32Array(320).fill(0.05))).toBeGreaterThan(0.4);
  expect(loudness(new Float32Array(0))).toBe(0);
});

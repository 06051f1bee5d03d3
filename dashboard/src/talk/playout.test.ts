import { expect, test } from "vitest";
import { Playout } from "./playout";

/** One sample a millisecond keeps the figures readable. */
const RATE = 1_000;

function ramp(from: number, count: number): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => from + i);
}

function play(playout: Playout, count: number): { samples: number[]; marks: string[] } {
  const output = new Float32Array(count);
  const marks = playout.read(output);
  return { samples: [...output], marks };
}

test("audio plays in order across blocks, and silence follows it", () => {
  const playout = new Playout(RATE);
  playout.push(ramp(1, 30));
  playout.push(ramp(31, 20));
  expect(play(playout, 35).samples).toEqual([...ramp(1, 35)]);
  expect(play(playout, 20).samples).toEqual([...ramp(36, 15), 0, 0, 0, 0, 0]);
});

test("a single short frame waits for a second one, but not for ever", () => {
  const playout = new Playout(RATE);
  playout.push(ramp(1, 20));
  expect(play(playout, 20).samples).toEqual(new Array(20).fill(0));
  expect(play(playout, 20).samples).toEqual(new Array(20).fill(0));
  expect(play(playout, 20).samples).toEqual([...ramp(1, 20)]);
});

test("the silence before the agent speaks is no part of that wait", () => {
  const playout = new Playout(RATE);
  play(playout, 500);
  playout.push(ramp(1, 20));
  expect(play(playout, 20).samples).toEqual(new Array(20).fill(0));
});

test("a mark is due once everything before it was played", () => {
  const playout = new Playout(RATE);
  playout.push(ramp(1, 50));
  playout.mark("first");
  playout.push(ramp(51, 50));
  playout.mark("second");
  expect(play(playout, 49).marks).toEqual([]);
  expect(play(playout, 1).marks).toEqual(["first"]);
  expect(play(playout, 50).marks).toEqual(["second"]);
});

test("a mark behind nothing is due at once", () => {
  const playout = new Playout(RATE);
  playout.mark("greeting");
  expect(play(playout, 10).marks).toEqual(["greeting"]);
});

test("an interruption silences the agent at once, and the marks that were not reached are never due", () => {
  const playout = new Playout(RATE);
  playout.push(ramp(1, 100));
  playout.mark("sentence");
  play(playout, 10);
  playout.clear();
  expect(playout.length).toBe(0);
  expect(play(playout, 50)).toEqual({ samples: new Array(50).fill(0), marks: [] });
});

test("never more than 200 ms wait: the oldest audio goes, with the marks in it", () => {
  const playout = new Playout(RATE);
  playout.push(ramp(1, 100));
  playout.mark("early");
  playout.push(ramp(101, 250));
  expect(playout.length).toBe(200);
  const { samples, marks } = play(playout, 10);
  expect(samples).toEqual([...ramp(151, 10)]);
  expect(marks).toEqual(["early"]);
});

import { expect, test } from "vitest";
import { mixed, parseStart } from "./overheard";

test("a start says the rate, and nothing else is one", () => {
  expect(parseStart('{"type":"start","sample_rate":8000,"channels":2}')).toEqual({ sampleRate: 8000 });
  for (const other of ["", "null", "[]", '{"type":"end"}', '{"type":"start"}', '{"type":"start","sample_rate":0}']) {
    expect(parseStart(other)).toBeNull();
  }
});

test("both sides are heard at once, and what is too loud is cut off", () => {
  const stereo = Int16Array.of(1, 2, -300, 0, 30_000, 30_000, -30_000, -30_000);
  expect([...new Int16Array(mixed(stereo.buffer))]).toEqual([3, -300, 32_767, -32_768]);
});

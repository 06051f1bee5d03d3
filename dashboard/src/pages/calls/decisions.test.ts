import { expect, test } from "vitest";
import type { Decision } from "../../api/types";
import { chip, decidedAt, probabilityWords, silenceWords } from "./decisions";

const decision = (silence_ms: number | null, silence_needed_ms: number | null) =>
  ({ silence_ms, silence_needed_ms }) as Decision;

test("the time of a decision has tenths of a second", () => {
  expect(decidedAt(0)).toBe("0:00.0");
  expect(decidedAt(67_490)).toBe("1:07.4");
});

test("silence stands beside the silence that was needed", () => {
  expect(silenceWords(decision(420, 640))).toBe("420 / 640 ms");
  expect(silenceWords(decision(0, 640))).toBe("0 / 640 ms");
  expect(silenceWords(decision(420, null))).toBe("420 / – ms");
  expect(silenceWords(decision(null, null))).toBe("–");
});

test("a probability is rounded to whole percents, and may be missing", () => {
  expect(probabilityWords(0.934)).toBe("93 %");
  expect(probabilityWords(0)).toBe("0 %");
  expect(probabilityWords(null)).toBe("–");
});

test("evidence says with its sign how much it counted", () => {
  expect(chip({ name: "open_word", value: 1, weight: -2.6 })).toEqual({
    name: "Open word",
    weight: "−2.6",
    tone: "warn",
  });
  expect(chip({ name: "answer", value: 0.5, weight: 3 })).toEqual({ name: "Answer", weight: "+1.5", tone: "good" });
  expect(chip({ name: "dictation_complete", value: 0, weight: 4 })).toEqual({
    name: "Dictation complete",
    weight: "0.0",
    tone: "neutral",
  });
});

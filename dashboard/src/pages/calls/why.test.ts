import { expect, test } from "vitest";
import type { TranscriptLine } from "../../api/types";
import { why } from "./why";

type End = NonNullable<TranscriptLine["turn"]>;

const turn = (end: Partial<End>): End => ({
  waited_ms: 1400,
  ended_by: "silence",
  because: [],
  speculations: 0,
  ...end,
});
type Witness = End["because"][number];
const witness = (name: string, weight: number, value = 1): Witness => ({
  witness: name as Witness["witness"],
  value,
  weight,
});

test("the strongest witness is the reason, with the word it heard", () => {
  const because = [
    witness("closed_sentence", 0.5),
    witness("long_pauses", -0.4),
    witness("open_word", -2.6),
    witness("question", 9, 0),
  ];
  expect(why({ text: "Hm, my number is…", turn: turn({ because }) })).toBe(
    "Waited 1.40 s: “is” leaves the sentence open.",
  );
  expect(why({ text: "Yes, please.", turn: turn({ waited_ms: 400, because: [witness("answer", 1.4)] }) })).toBe(
    "Waited 400 ms: “Yes, please” is an answer.",
  );
  const despite = [witness("closed_sentence", 0.5), witness("long_pauses", -0.4)];
  expect(why({ text: "Well.", turn: turn({ waited_ms: 560, because: despite }) })).toBe(
    "Waited 560 ms: this caller pauses within turns.",
  );
});

test("a witness that this page does not know is named", () => {
  expect(why({ text: "Hm.", turn: turn({ because: [witness("falling_pitch", 1)] }) })).toBe(
    "Waited 1.40 s: falling pitch.",
  );
});

test("keys and speech to text end turns without witnesses", () => {
  expect(why({ text: "[keys] 42", turn: turn({ ended_by: "keys", waited_ms: 2000 }) })).toBe(
    "Waited 2.00 s after the last key.",
  );
  expect(why({ text: "Hello.", turn: turn({ ended_by: "stt", waited_ms: null }) })).toBe(
    "Did not wait: speech to text said that the turn was over.",
  );
});

test("without an end there is no reason", () => {
  expect(why({ text: "Hello.", turn: null })).toBeNull();
  expect(why({ text: "Hello.", turn: turn({}) })).toBe("Waited 1.40 s.");
});

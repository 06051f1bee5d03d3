/** Why the agent spoke when it did, in one sentence. Pure. */
import type { TranscriptLine } from "../../api/types";
import { milliseconds } from "../../lib/format";
import { plain } from "../../lib/words";

type Turn = NonNullable<TranscriptLine["turn"]>;

/** Above this, the agent did not take the sentence for complete. */
const LONG_WAIT_MS = 500;

/** What each witness says about a text, or about the word that it ends with. */
const REASONS: Record<string, (text: string, word: string) => string> = {
  no_words: () => "no words were recognized",
  not_final: () => "the words were not final",
  answer: (text) => `“${text}” is an answer`,
  open_word: (_, word) => `“${word}” leaves the sentence open`,
  loose_word: (_, word) => `more words often follow “${word}”`,
  dictation_begun: () => "digits or letters had begun",
  dictation_partial: () => "digits or letters were missing",
  dictation_complete: () => "the number was complete",
  question: () => "it is a question",
  doubtful_question: () => "it may be a question",
  closed_sentence: () => "the sentence is complete",
  suspension: () => "a comma or dash leaves the sentence open",
  request: () => "it begins like a request",
  short_phrase: () => "so short a phrase may go on",
  short_answer: () => "the question asks for a word or two",
  missing_object: (_, word) => `“${word}” needs an object`,
  subordinate_clause: () => "the main clause is missing",
  missing_number: () => "the number that was asked for is missing",
  long_pauses: () => "this caller pauses within turns",
  unknown_language: () => "the language has no word lists",
};

/** "Waited 1.40 s: “is” leaves the sentence open."; null where it is not known. */
export function why({ text, turn }: Pick<TranscriptLine, "text" | "turn">): string | null {
  if (!turn) return null;
  const waited = turn.waited_ms === null ? "Did not wait" : `Waited ${milliseconds(turn.waited_ms)}`;
  switch (turn.ended_by) {
    case "keys":
      return `${waited} after the last key.`;
    case "stt":
      return `${waited}: speech to text said that the turn was over.`;
    case "silence": {
      const strongest = reasonFor(turn);
      return strongest ? `${waited}: ${reason(strongest.witness, text)}.` : `${waited}.`;
    }
  }
}

/** A long wait is explained by what spoke against the end, a short one by what spoke for it. */
function reasonFor({ waited_ms, because }: Turn): Turn["because"][number] | undefined {
  const sign = (waited_ms ?? 0) > LONG_WAIT_MS ? -1 : 1;
  const weights = because.map((one) => ({ ...one, weight: sign * one.value * one.weight }));
  const best = Math.max(...weights.map((one) => one.weight));
  return weights.find((one) => one.weight === best);
}

function reason(witness: string, text: string): string {
  const said = text.trim().replace(/[.,;:!?…–—]+$/u, "");
  const word = said.split(/\s+/u).at(-1) ?? "";
  return REASONS[witness]?.(said, word) ?? plain(witness).toLowerCase();
}

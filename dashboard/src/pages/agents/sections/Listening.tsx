import type { Eagerness } from "../../../api/types";
import { valueAt } from "../draft";
import { CheckRow, NumberRow, SelectRow, TextRow, useForm, WordsRow } from "../form";
import { More, Pair, Section } from "./Section";
import { ConnectionRow, Fallbacks } from "./stage";

const EAGERNESS_OPTIONS: { value: Eagerness; label: string }[] = [
  { value: "low", label: "Low: waits longer" },
  { value: "normal", label: "Normal" },
  { value: "high", label: "High: answers sooner" },
];

export function Listening() {
  const { draft } = useForm();
  const isBuiltIn = !valueAt(draft, "stt.connection_id");
  return (
    <Section id="listening" intro="Who turns speech into text, and when the caller’s turn ends.">
      <ConnectionRow stage="stt" />
      {!isBuiltIn && (
        <>
          <TextRow path="stt.model" label="Model" optional nullable placeholder="The connection’s" />
          <WordsRow
            path="stt.keyterms"
            label="Keyterms"
            optional
            hint="Words to expect, such as names; one on each line."
          />
          <Fallbacks stage="stt" />
        </>
      )}
      <SelectRow
        path="turn_taking.eagerness"
        label="Eagerness"
        options={EAGERNESS_OPTIONS}
        hint="How soon the agent takes the turn: low leaves callers time to think, high suits short answers."
      />
      <Pair>
        <NumberRow
          path="turn_taking.min_silence_ms"
          label="Min silence (ms)"
          placeholder="400"
          hint="Ends a turn after words that sound complete."
        />
        <NumberRow
          path="turn_taking.max_silence_ms"
          label="Max silence (ms)"
          placeholder="2000"
          hint="Ends a turn in any case."
        />
      </Pair>
      <CheckRow
        path="turn_taking.speculative"
        label="Speculative"
        hint="Ask the model when the turn has probably ended. Faster, for some extra requests."
      />
      <CheckRow path="interruption.enabled" label="The caller can interrupt the agent" />
      <More title="Interruption">
        <Pair>
          <NumberRow
            path="interruption.min_speech_ms"
            label="Min speech (ms)"
            placeholder="500"
            hint="Speech of this length interrupts."
          />
          <NumberRow
            path="interruption.min_words"
            label="Min words"
            placeholder="2"
            hint="This many words interrupt sooner."
          />
        </Pair>
        <WordsRow
          path="interruption.backchannels"
          label="Backchannels"
          hint="Words that do not interrupt on their own; one on each line."
        />
      </More>
      <More title="Silence of the caller">
        <Pair>
          <NumberRow
            path="silence.reprompt_after_seconds"
            label="Reprompt after (seconds)"
            placeholder="8"
            hint="Then the agent asks whether the caller is there."
          />
          <NumberRow path="silence.max_reprompts" label="Max reprompts" placeholder="2" />
        </Pair>
        <NumberRow
          path="silence.hangup_after_seconds"
          label="Hangup after (seconds)"
          placeholder="Never"
          hint="Empty: the agent never hangs up by itself."
        />
      </More>
    </Section>
  );
}

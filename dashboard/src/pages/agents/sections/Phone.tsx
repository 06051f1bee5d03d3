import { valueAt } from "../draft";
import { CheckRow, NumberRow, SelectRow, TextRow, useForm } from "../form";
import { More, Pair, Section } from "./Section";

const FINISH_KEYS = ["#", "*", ..."0123456789", ..."ABCD"];

export function Phone() {
  const { draft } = useForm();
  const detects = valueAt(draft, "answering_machine.mode") === "detect";
  const leaves = detects && valueAt(draft, "answering_machine.on_machine") === "leave_message";
  return (
    <Section id="phone">
      <Pair>
        <NumberRow
          path="limits.max_duration_seconds"
          label="Max duration (seconds)"
          placeholder="1800"
          hint="Then the agent says goodbye."
        />
        <NumberRow
          path="limits.ring_timeout_seconds"
          label="Ring timeout (seconds)"
          placeholder="30"
          hint="Then the call ends unanswered."
        />
      </Pair>
      <Pair>
        <SelectRow
          path="answering_machine.mode"
          label="Answering machines"
          options={[
            { value: "off", label: "Treat like people" },
            { value: "detect", label: "Detect" },
          ]}
        />
        {detects && (
          <SelectRow
            path="answering_machine.on_machine"
            label="On machine"
            options={[
              { value: "hangup", label: "Hang up" },
              { value: "leave_message", label: "Leave a message" },
            ]}
          />
        )}
      </Pair>
      {leaves && (
        <TextRow path="answering_machine.message" label="Message" rows={2} nullable hint="Said after the beep." />
      )}
      <More title="Keys of the telephone">
        <CheckRow path="dtmf.enabled" label="Collect the keys that the caller presses" />
        <Pair>
          <SelectRow
            path="dtmf.finish_on_key"
            label="Finish on key"
            options={[{ value: "", label: "No key" }, ...FINISH_KEYS.map((key) => ({ value: key, label: key }))]}
          />
          <NumberRow path="dtmf.max_digits" label="Max digits" placeholder="32" />
        </Pair>
        <NumberRow
          path="dtmf.digit_timeout_ms"
          label="Digit timeout (ms)"
          placeholder="2000"
          hint="A pause of this length ends the input."
        />
        <CheckRow path="dtmf.interrupt" label="A key interrupts the agent" />
      </More>
    </Section>
  );
}

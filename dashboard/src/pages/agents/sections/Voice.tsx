import { valueAt } from "../draft";
import { NumberRow, TextRow, useForm } from "../form";
import { VoicePicker } from "../VoicePicker";
import { Section } from "./Section";
import { ConnectionRow, Fallbacks } from "./stage";

export function Voice() {
  const { draft } = useForm();
  const connectionId = valueAt(draft, "tts.connection_id");
  const isBuiltIn = !connectionId;
  return (
    <Section id="voice">
      <ConnectionRow stage="tts" />
      <VoicePicker key={String(connectionId)} connectionId={isBuiltIn ? "local" : String(connectionId)} />
      <NumberRow path="tts.speed" label="Speed" placeholder="1" hint="1 is the voice’s normal rate; from 0.5 to 2." />
      {!isBuiltIn && (
        <>
          <TextRow path="tts.model" label="Model" optional nullable placeholder="The connection’s" />
          <Fallbacks stage="tts" />
        </>
      )}
    </Section>
  );
}

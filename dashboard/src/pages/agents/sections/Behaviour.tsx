import { useState } from "react";
import { variablesIn, valueAt } from "../draft";
import { CheckRow, SelectRow, TextRow, useForm } from "../form";
import { Pair, Section } from "./Section";
import { Variables } from "./Variables";

/** The languages that the service has phrases of its own for. */
const LANGUAGES = ["en-US", "en-GB", "de", "es", "fr", "hi", "it", "ja", "nl", "pt-BR", "pt-PT"];
const NAMES = new Intl.DisplayNames("en", { type: "language" });
const OTHER = "other";

const GREETING_MODES = [
  { value: "speak", label: "Speak a text" },
  { value: "generate", label: "Let the model write it" },
  { value: "wait", label: "Wait for the caller" },
];

export function Behaviour() {
  const { draft } = useForm();
  const instructions = String(valueAt(draft, "instructions") ?? "");
  const speaks = (valueAt(draft, "greeting.mode") ?? "speak") === "speak";
  const greeting = String(valueAt(draft, "greeting.text") ?? "");
  const used = variablesIn(`${instructions} ${speaks ? greeting : ""}`);
  return (
    <Section id="behaviour">
      <TextRow path="name" label="Name" required placeholder="Ava" />
      <Pair>
        <Language />
        <SelectRow path="greeting.mode" label="Greeting" options={GREETING_MODES} />
      </Pair>
      {speaks && (
        <TextRow
          path="greeting.text"
          label="Greeting text"
          rows={2}
          placeholder="Hello, how can I help you?"
          nullable
        />
      )}
      <CheckRow path="greeting.interruptible" label="The caller can interrupt the greeting" />
      <TextRow
        path="instructions"
        label="Instructions"
        required
        rows={9}
        placeholder="You answer the phone of a dentist. Offer appointments on weekdays."
        hint={
          <>
            {used.length > 0 && `${used.map((name) => `{{${name}}}`).join(", ")} from the call’s variables. `}
            {instructions.length.toLocaleString("en-US")} of 100,000 characters.
          </>
        }
      />
      <Variables used={used} />
    </Section>
  );
}

function Language() {
  const { draft, set } = useForm();
  const language = String(valueAt(draft, "language") ?? "en-US");
  const [isOther, setOther] = useState(!LANGUAGES.includes(language));
  if (isOther) {
    return (
      <TextRow path="language" label="Language" placeholder="en-US" hint="A BCP 47 tag, such as sv or zh-Hant-TW." />
    );
  }
  const options = LANGUAGES.map((value) => ({ value, label: NAMES.of(value) ?? value }));
  return (
    <SelectRow
      path="language"
      label="Language"
      options={[...options, { value: OTHER, label: "Another language…" }]}
      onChoose={(value) => (value === OTHER ? setOther(true) : set("language", value))}
    />
  );
}

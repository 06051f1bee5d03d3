import { CheckRow, JsonRow } from "../form";
import { Section } from "./Section";

export function Analysis() {
  return (
    <Section id="analysis" intro="After a call the language model reads the transcript once more.">
      <CheckRow path="analysis.summary" label="Summary" hint="A few sentences about the call." />
      <JsonRow
        path="analysis.schema"
        label="Schema"
        optional
        placeholder={'{ "type": "object", "properties": { "name": { "type": "string" } } }'}
        hint="A JSON Schema of the facts to extract, the call’s outcome. Without one, the model chooses them."
      />
    </Section>
  );
}

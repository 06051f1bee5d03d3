import { valueAt } from "../draft";
import { CheckRow, NumberRow, TextRow, useForm } from "../form";
import { More, Pair, Section } from "./Section";
import { ConnectionRow, Fallbacks, useStageConnections } from "./stage";

export function Model() {
  const { draft } = useForm();
  const isBuiltIn = !valueAt(draft, "llm.connection_id");
  const hasRealtime = useStageConnections("realtime").length > 0;
  const isRealtime = Boolean(valueAt(draft, "realtime.connection_id"));
  return (
    <Section id="model">
      <ConnectionRow stage="llm" />
      {!isBuiltIn && (
        <>
          <TextRow path="llm.model" label="Model" optional nullable placeholder="The connection’s" />
          <Pair>
            <NumberRow
              path="llm.temperature"
              label="Temperature"
              optional
              placeholder="The provider’s"
              hint="From 0 to 2."
            />
            <NumberRow
              path="llm.max_tokens"
              label="Max tokens"
              optional
              placeholder="300"
              hint="The longest response."
            />
          </Pair>
          <CheckRow
            path="llm.hedge"
            label="Hedge"
            hint="Send a second request when the first is late. The first to answer is spoken; both cost."
          />
          <Fallbacks stage="llm" />
        </>
      )}
      {(hasRealtime || isRealtime) && (
        <More title="Speech to speech">
          <p className="muted">One model that hears and speaks replaces speech to text, language model and voice.</p>
          <ConnectionRow stage="realtime" label="Speech-to-speech connection" />
          {isRealtime && (
            <Pair>
              <TextRow
                path="realtime.model"
                label="Speech-to-speech model"
                optional
                nullable
                placeholder="The connection’s"
              />
              <TextRow
                path="realtime.voice"
                label="Speech-to-speech voice"
                optional
                nullable
                placeholder="The connection’s"
              />
            </Pair>
          )}
        </More>
      )}
    </Section>
  );
}

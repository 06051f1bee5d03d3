import { CircleAlert } from "lucide-react";
import type { Call } from "../../api/queries";
import type { components } from "../../api/schema";
import { ButtonLink } from "../../components/Button";
import { endWords } from "../../lib/words";
import styles from "./CallPage.module.css";
import { otherParty } from "./cells";
import { PlaceCallButton } from "./PlaceCall";

type Code = components["schemas"]["CallFailure"];

/** Explains each failure in a sentence. */
const SENTENCES: Record<string, string> = {
  carrier_unauthorized: "The carrier refuses the connection’s credentials.",
  carrier_error: "The carrier failed. Calls may work again in a moment.",
  busy: "The line was busy.",
  no_answer: "Nobody answered.",
  rejected: "The call was rejected.",
  invalid_number: "The number does not exist.",
  no_media: "The call was answered, but no audio arrived.",
  config_error: "The agent or its connections are not set up completely.",
  provider_timeout: "A provider did not answer in time.",
  pipeline_error: "Listening, thinking or speaking failed.",
} satisfies Record<Exclude<Code, "unknown_error">, string>;
const CREDENTIALS = new Set(["carrier_unauthorized"]);
const AGENT = new Set(["config_error", "provider_timeout", "pipeline_error"]);

/** Why the call failed, in words, and the next step. */
export function Failure({ call }: { call: Call }) {
  const code = call.error_code ?? "";
  const sentence = SENTENCES[code] ?? `${endWords(call) || "The call failed"}.`;
  return (
    <div className={styles.failure} title={code}>
      <CircleAlert aria-hidden="true" />
      <div>
        <strong>{sentence}</strong>
        {call.error && <p>{call.error}</p>}
      </div>
      {CREDENTIALS.has(code) ? (
        <ButtonLink to={`/connections/${call.carrier.connection_id}`}>Enter a new token</ButtonLink>
      ) : AGENT.has(code) ? (
        <ButtonLink to={`/agents/${call.agent_id}`}>Open agent</ButtonLink>
      ) : (
        <PlaceCallButton draft={{ to: otherParty(call), agentId: call.agent_id }}>Call again</PlaceCallButton>
      )}
    </div>
  );
}

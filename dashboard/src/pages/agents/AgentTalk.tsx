import { useSearchParams } from "react-router";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import { TalkPanel } from "../../talk/TalkPanel";
import type { Refusal, TalkCall } from "../../talk/talk-state";
import { differences, isEqual, valueAt, type JsonObject } from "./draft";

/** What a call can take from the draft; everything else is heard once it is saved. */
function overridesOf(saved: JsonObject, draft: JsonObject): JsonObject {
  const overrides: JsonObject = {};
  if (!isEqual(saved.instructions, draft.instructions)) overrides.instructions = draft.instructions;
  const greeting = valueAt(draft, "greeting.text");
  if (!isEqual(valueAt(saved, "greeting.text"), greeting)) overrides.greeting = greeting;
  return overrides;
}

function noteOf(saved: JsonObject, draft: JsonObject): string | undefined {
  const overrides = Object.keys(overridesOf(saved, draft));
  const others = differences(saved, draft).filter(({ path }) => !["instructions", "greeting.text"].includes(path));
  const used = overrides.length > 0 ? `Uses your unsaved ${overrides.join(" and ")}.` : "";
  const unused = others.length > 0 ? "Save to hear your other changes." : "";
  return `${used} ${unused}`.trim() || undefined;
}

/** The Talk panel beside the editor: it talks to the draft as far as a call can. */
export function AgentTalk({ saved, draft }: { saved: JsonObject | null; draft: JsonObject }) {
  const [search] = useSearchParams();
  const name = String(draft.name || "the agent");
  const placeCall = async (): Promise<TalkCall> => {
    const overrides = saved ? overridesOf(saved, draft) : {};
    // The version that the page shows, also while other calls get another one.
    const agent = { agent_id: String(saved?.id), agent_version: Number(saved?.version) };
    const call = await take(client.POST("/v1/calls", { body: { ...agent, to: "web", overrides } }));
    if (!("id" in call) || !call.web) throw new Error("This service does not talk to browsers yet.");
    return { id: call.id, url: call.web.url };
  };
  return (
    <TalkPanel
      agentName={name}
      focused={search.has("talk")}
      placeCall={placeCall}
      refusal={refusalOf}
      hangUp={(id) =>
        void take(client.POST("/v1/calls/{id}/hangup", { params: { path: { id } } })).catch(() => undefined)
      }
      obstacle={saved ? null : "Save the agent to talk to it."}
      note={saved ? noteOf(saved, draft) : undefined}
    />
  );
}

function refusalOf(error: unknown): Refusal {
  const { status, code, detail } = asApiError(error);
  return { kind: "service", status, code, detail };
}

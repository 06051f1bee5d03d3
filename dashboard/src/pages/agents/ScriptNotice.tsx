import { useQuery } from "@tanstack/react-query";
import { connectionsQuery } from "../../api/queries";
import { Button, ButtonLink } from "../../components/Button";
import { Notice } from "../../components/Notice";
import { valueAt, type JsonObject } from "./draft";
import { useForm } from "./form";

const SCRIPT = "scripted";

/** Says that nothing follows the agent's instructions, with the button that mends it. */
export function ScriptNotice() {
  const { draft, set, disabled } = useForm();
  const { data: connections } = useQuery(connectionsQuery);
  const chosen = valueAt(draft, "llm.connection_id");
  const isScript = !chosen || connections?.some(({ id, provider }) => id === chosen && provider === SCRIPT);
  if (!connections || !isScript || valueAt(draft, "realtime.connection_id")) return null;
  const model = connections.find(({ kinds, provider }) => provider !== SCRIPT && kinds.includes("llm"));
  const use = (id: string) => {
    const current = (valueAt(draft, "llm") ?? {}) as JsonObject;
    // The model's name belongs to the connection before.
    set("llm", { ...current, connection_id: id, model: null });
  };
  return (
    <Notice
      tone="warn"
      action={
        disabled ? undefined : model ? (
          <Button size="small" onClick={() => use(model.id)}>
            Use {model.name}
          </Button>
        ) : (
          <ButtonLink size="small" to="/connections/new">
            Connect a model
          </ButtonLink>
        )
      }
    >
      No language model follows the instructions: callers hear the demo script.
    </Notice>
  );
}

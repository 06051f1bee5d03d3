import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { callQuery } from "../../api/calls";
import { client, take } from "../../api/client";
import { asApiError, type ApiError } from "../../api/errors";
import { agentsQuery, connectionsQuery, numbersQuery, type Agent, type PhoneNumber } from "../../api/queries";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { ErrorText } from "../../components/ErrorNotice";
import { SelectField, TextField } from "../../components/Field";
import { phone } from "../../lib/format";
import type { Draft } from "./PlaceCall";
import styles from "./PlaceCallDialog.module.css";
import { variablesOf } from "./variables";

/** Numbers of the simulated network that are good for a first call. */
const SIMULATED = [
  ["+12025550100", "a guest who books a table"],
  ["+12025550101", "busy"],
  ["+12025550110", "voicemail"],
] as const;

export default function PlaceCallDialog({ draft, onClose }: { draft: Draft; onClose: () => void }) {
  const agents = useQuery(agentsQuery);
  const numbers = useQuery(numbersQuery);
  const ready = agents.data && numbers.data;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Place call"
      description={
        agents.data?.length === 0 ? (
          <>
            No agents. <Link to="/agents">Start from a template.</Link>
          </>
        ) : numbers.data?.length === 0 ? (
          <>
            No numbers. <Link to="/numbers">Add the one to call from.</Link>
          </>
        ) : undefined
      }
    >
      {ready && agents.data.length > 0 && numbers.data.length > 0 && (
        <Form draft={draft} agents={agents.data} numbers={numbers.data} onClose={onClose} />
      )}
    </Dialog>
  );
}

function Form(props: { draft: Draft; agents: Agent[]; numbers: PhoneNumber[]; onClose: () => void }) {
  const { draft, agents, numbers } = props;
  const [to, setTo] = useState(draft.to ?? "");
  const [agentId, setAgentId] = useState(draft.agentId ?? agents[0]?.id ?? "");
  const [from, setFrom] = useState(numbers[0]?.number ?? "");
  const [variables, setVariables] = useState<Record<string, string | number | boolean>>(draft.variables ?? {});
  const queries = useQueryClient();
  const navigate = useNavigate();
  const place = useMutation({
    mutationFn: async () => {
      const given = Object.entries(variables).filter(([, value]) => value !== "");
      const placed = await take(
        client.POST("/v1/calls", {
          body: {
            to: to.startsWith("sip") ? to.trim() : to.replace(/[\s().-]/g, ""),
            agent_id: agentId,
            from,
            variables: Object.fromEntries(given),
          },
        }),
      );
      // Only a dry run has no id, and this is none.
      if (!("id" in placed)) throw new Error("The call was not placed.");
      return placed;
    },
    onSuccess: (call) => {
      queries.setQueryData(callQuery(call.id).queryKey, call);
      void queries.invalidateQueries({ queryKey: ["calls", "latest"] });
      props.onClose();
      void navigate(`/calls/${call.id}`);
    },
  });
  const error = place.error ? asApiError(place.error) : undefined;
  // The call may get another version than the newest, with other variables: those that it lacks are named by the error.
  const missing = (error?.errors ?? []).flatMap(({ path }) => path.match(/^variables\.([^.]+)$/)?.[1] ?? []);
  const names = [...new Set([...variablesOf(agents.find((agent) => agent.id === agentId)), ...missing])];
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (!place.isPending) place.mutate();
      }}
    >
      <div>
        <TextField
          label="To"
          value={to}
          onChange={(event) => setTo(event.target.value)}
          placeholder="+1 202 555 0100"
          inputMode="tel"
          required
          autoFocus
          error={error?.field("to")}
          hint="A number with its country code, or a sip: address."
        />
        <Simulated numbers={numbers} from={from} onChoose={setTo} />
      </div>
      <SelectField
        label="Agent"
        value={agentId}
        onChange={(event) => setAgentId(event.target.value)}
        error={error?.field("agent_id")}
      >
        {agents.map((agent) => (
          <option key={agent.id} value={agent.id}>
            {agent.name}
          </option>
        ))}
      </SelectField>
      <SelectField
        label="From"
        value={from}
        onChange={(event) => setFrom(event.target.value)}
        error={error?.field("from") ?? error?.field("number_id")}
      >
        {numbers.map((number) => (
          <option key={number.id} value={number.number}>
            {phone(number.number)}
            {number.label ? ` · ${number.label}` : ""}
          </option>
        ))}
      </SelectField>
      {names.map((name) => (
        <TextField
          key={name}
          label={name}
          optional
          value={String(variables[name] ?? "")}
          onChange={(event) => setVariables({ ...variables, [name]: event.target.value })}
          error={error?.field(`variables.${name}`)}
        />
      ))}
      {error && !atField(error, names) && <ErrorText error={error} />}
      <div className={styles.actions}>
        <Button onClick={props.onClose}>Cancel</Button>
        <Button type="submit" variant="primary" busy={place.isPending}>
          Place call
        </Button>
      </div>
    </form>
  );
}

/** Whether every message of the error stands at one of the form's fields. */
function atField(error: ApiError, names: string[]): boolean {
  const fields = ["to", "agent_id", "from", "number_id", ...names.map((name) => `variables.${name}`)];
  return error.errors.length > 0 && error.errors.every(({ path }) => fields.includes(path));
}

/** Numbers to try, where the call would go over the simulated network. */
function Simulated(props: { numbers: PhoneNumber[]; from: string; onChoose: (number: string) => void }) {
  const connections = useQuery(connectionsQuery);
  const number = props.numbers.find((one) => one.number === props.from);
  const connection = connections.data?.find((one) => one.id === number?.connection_id);
  if (connection?.provider !== "simulator") return null;
  return (
    <p className={styles.simulated}>
      Simulated:{" "}
      {SIMULATED.map(([value, what]) => (
        <button key={value} type="button" title={phone(value)} onClick={() => props.onChoose(value)}>
          {what}
        </button>
      ))}
    </p>
  );
}

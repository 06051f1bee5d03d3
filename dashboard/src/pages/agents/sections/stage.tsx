/** Which connection does a stage: the same for speech to text, the language model and the voice. */

import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { Link } from "react-router";
import { connectionsQuery } from "../../../api/queries";
import { Button } from "../../../components/Button";
import { SelectField, TextField } from "../../../components/Field";
import { providerInfo } from "../../connections/providers";
import { valueAt, type Json, type JsonObject } from "../draft";
import { SelectRow, useForm } from "../form";
import { More } from "./Section";
import styles from "./lists.module.css";

export type Stage = "stt" | "llm" | "tts" | "realtime";

const BUILT_IN: Record<Stage, string> = {
  stt: "On this machine (English)",
  llm: "Scripted dialogue (for tests)",
  tts: "On this machine (English)",
  realtime: "Off",
};

/** The connections that can do a stage. */
export function useStageConnections(stage: Stage) {
  const { data } = useQuery(connectionsQuery);
  return data?.filter(({ kinds }) => kinds.includes(stage)) ?? [];
}

/** Chooses who does a stage. A stage in which nothing is set is `null`, as the API has it. */
export function ConnectionRow({ stage, label = "Connection" }: { stage: Stage; label?: string }) {
  const { draft, set } = useForm();
  const connections = useStageConnections(stage);
  const choose = (id: string) => {
    const current = valueAt(draft, stage);
    const others = Object.entries((current ?? {}) as JsonObject).filter(
      // A model or voice belongs to the connection that has it.
      ([key, value]) => !["connection_id", "model", "voice"].includes(key) && isSet(value),
    );
    const next: JsonObject = { ...Object.fromEntries(others), connection_id: id || null };
    set(stage, id === "" && (others.length === 0 || stage === "realtime") ? null : next);
  };
  return (
    <SelectRow
      path={`${stage}.connection_id`}
      label={label}
      options={[
        { value: "", label: BUILT_IN[stage] },
        ...connections.map(({ id, name, provider }) => ({
          value: id,
          label: `${name} (${providerInfo(provider).title})`,
        })),
      ]}
      onChoose={choose}
      hint={
        connections.length === 0 ? (
          <>
            None of your connections can do this. <Link to="/connections/new">Connect a provider</Link>
          </>
        ) : undefined
      }
    />
  );
}

function isSet(value: Json | undefined): boolean {
  return value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0) && value !== false;
}

/** The connections that take over when the one above fails, in order. */
export function Fallbacks({ stage }: { stage: Stage }) {
  const { draft, set, problem, disabled } = useForm();
  const connections = useStageConnections(stage);
  const path = `${stage}.fallbacks`;
  const value = valueAt(draft, path);
  const fallbacks = (Array.isArray(value) ? value : []) as JsonObject[];
  const change = (index: number, fallback: JsonObject | null) => {
    const next = fallbacks.map((each, i) => (i === index ? fallback : each)).filter((each) => each !== null);
    set(path, next);
  };
  const first = connections[0];
  if (!first && fallbacks.length === 0) return null;
  return (
    <More title={`Fallbacks (${fallbacks.length})`}>
      <p className="muted">Tried in order when the connection above fails or stays silent.</p>
      {fallbacks.map((fallback, index) => (
        <div key={index} className={styles.row}>
          <SelectField
            label={`Fallback ${index + 1}`}
            disabled={disabled}
            value={String(fallback.connection_id ?? "")}
            error={problem(`${path}.${index}.connection_id`)}
            onChange={(event) => change(index, { connection_id: event.target.value })}
          >
            {connections.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </SelectField>
          <TextField
            label="Model"
            optional
            disabled={disabled}
            value={typeof fallback.model === "string" ? fallback.model : ""}
            error={problem(`${path}.${index}.model`)}
            onChange={(event) => change(index, { ...fallback, model: event.target.value || null })}
          />
          <Button
            variant="ghost"
            icon={<X />}
            aria-label={`Remove fallback ${index + 1}`}
            disabled={disabled}
            onClick={() => change(index, null)}
          />
        </div>
      ))}
      {first && fallbacks.length < 5 && (
        <div>
          <Button
            size="small"
            icon={<Plus />}
            disabled={disabled}
            onClick={() => set(path, [...fallbacks, { connection_id: first.id }])}
          >
            Add fallback
          </Button>
        </div>
      )}
    </More>
  );
}

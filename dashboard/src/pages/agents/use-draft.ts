/** The draft of an agent: what was typed, what is wrong with it, and how it is saved. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import type { components } from "../../api/schema";
import { configOf, differences, errorsByPath, mergePatch, withValueAt, type Json, type JsonObject } from "./draft";
import type { AgentForm } from "./form";
import { draftOf, type Template } from "./templates";

type Schemas = components["schemas"];
type Saved = Schemas["AgentWithWarnings"];

export interface DraftState {
  form: AgentForm;
  draft: JsonObject;
  /** How many fields differ from what is saved, or from the template. */
  changes: number;
  /** Whether somebody else saved a newer version meanwhile. */
  isOutdated: boolean;
  /** What was found wrong while typing or by the API, by path. */
  problems: Map<string, string>;
  save: () => void;
  discard: () => void;
  /** Drops the result of the last save: its failure, warnings and version. */
  forgetSave: () => void;
  isSaving: boolean;
  /** Why the last attempt failed, where it was not for a field. */
  failure: string | null;
  warnings: string[];
  savedVersion: number | null;
}

/** `saved` is the agent as the service has it; `null` for a new one, which starts from a template. */
export function useDraft(
  saved: JsonObject | null,
  template: Template,
  disabled: boolean,
  onCreated: (id: string) => void,
): DraftState {
  const queryClient = useQueryClient();
  const [base, setBase] = useState<JsonObject>(() => saved ?? draftOf(template));
  const [draft, setDraft] = useState(base);
  const [typed, setTyped] = useState<Map<string, string>>(new Map());
  const [refused, setRefused] = useState<Map<string, string>>(new Map());

  const changes = useMemo(() => differences(base, draft), [base, draft]);
  const isOutdated = saved !== null && saved.version !== base.version;

  // A newer version replaces the draft only while nothing in it would be lost.
  const hasChanges = changes.length > 0;
  useEffect(() => {
    if (!isOutdated || hasChanges) return;
    setBase(saved);
    setDraft(saved);
  }, [saved, isOutdated, hasChanges]);

  const mutation = useMutation({
    mutationFn: (): Promise<Saved> => {
      if (saved === null) {
        return take(client.POST("/v1/agents", { body: configOf(draft) as unknown as Schemas["CreateAgent"] }));
      }
      return take(
        client.PATCH("/v1/agents/{id}", {
          params: { path: { id: String(saved.id) } },
          body: mergePatch(configOf(base), configOf(draft)) as unknown as Schemas["UpdateAgent"],
        }),
      );
    },
    onSuccess: (agent) => {
      setRefused(new Map());
      const { warnings: _, ...resource } = agent;
      queryClient.setQueryData(["agents", agent.id], resource);
      void queryClient.invalidateQueries({ queryKey: ["agents"] });
      setBase(resource as unknown as JsonObject);
      setDraft(resource as unknown as JsonObject);
      if (saved === null) onCreated(agent.id);
    },
    onError: (error) => {
      const { errors, code, detail } = asApiError(error);
      setRefused(code === "name_taken" ? new Map([["name", detail]]) : errorsByPath(errors));
    },
  });

  const problems = useMemo(() => new Map([...refused, ...typed]), [refused, typed]);
  const set = (path: string, value: Json) => {
    setDraft((current) => withValueAt(current, path, value));
    // The API's complaint was about the old value.
    setRefused((current) => without(current, (each) => each === path || each.startsWith(`${path}.`)));
  };
  const setProblem = (path: string, problem: string | undefined) => {
    setTyped((current) =>
      problem === undefined ? without(current, (each) => each === path) : new Map([...current, [path, problem]]),
    );
  };
  const error = mutation.error ? asApiError(mutation.error) : null;

  // Saved by a shortcut as well: a second press while the first is under way does nothing.
  const isBusy = useRef(false);
  isBusy.current = mutation.isPending;
  return {
    form: { draft, set, problem: (path) => problems.get(path), setProblem, disabled },
    draft,
    changes: changes.length,
    isOutdated,
    problems,
    save: () => {
      if (isBusy.current || disabled || typed.size > 0 || (saved !== null && changes.length === 0)) return;
      mutation.mutate();
    },
    discard: () => {
      const start = saved ?? draftOf(template);
      setBase(start);
      setDraft(start);
      setTyped(new Map());
      setRefused(new Map());
      mutation.reset();
    },
    forgetSave: () => mutation.reset(),
    isSaving: mutation.isPending,
    failure: error && error.errors.length === 0 && error.code !== "name_taken" ? error.detail : null,
    warnings: mutation.data?.warnings ?? [],
    savedVersion: mutation.data && changes.length === 0 ? mutation.data.version : null,
  };
}

function without(map: Map<string, string>, isGone: (path: string) => boolean): Map<string, string> {
  return [...map.keys()].some(isGone) ? new Map([...map].filter(([path]) => !isGone(path))) : map;
}

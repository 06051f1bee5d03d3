/** The agent's draft and the fields bound to it by path. */

import { createContext, useContext, useState, type ReactNode } from "react";
import { Checkbox } from "../../components/Checkbox";
import { SelectField, TextArea, TextField } from "../../components/Field";
import { readJson, writeJson } from "../../lib/json";
import { valueAt, type Json, type JsonObject } from "./draft";
import { numberProblem } from "./limits";

export interface AgentForm {
  draft: JsonObject;
  set: (path: string, value: Json) => void;
  /** The problem of a field: the API's, or what was found while typing. */
  problem: (path: string) => string | undefined;
  /** Reports what was found while typing; such a draft cannot be saved. */
  setProblem: (path: string, problem: string | undefined) => void;
  disabled: boolean;
}

const FormContext = createContext<AgentForm | null>(null);

export function FormProvider({ form, children }: { form: AgentForm; children: ReactNode }) {
  return <FormContext.Provider value={form}>{children}</FormContext.Provider>;
}

export function useForm(): AgentForm {
  const form = useContext(FormContext);
  if (!form) throw new Error("a field stands outside its form");
  return form;
}

interface FieldProps {
  path: string;
  label: string;
  hint?: ReactNode;
  optional?: boolean;
}

function text(value: Json | undefined): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

type TextProps = FieldProps & {
  rows?: number;
  placeholder?: string;
  required?: boolean;
  mono?: boolean;
  /** An emptied field is not set at all, rather than an empty text. */
  nullable?: boolean;
};

export function TextRow({ path, rows, nullable, mono, ...rest }: TextProps) {
  const { draft, set, problem, disabled } = useForm();
  const common = {
    ...rest,
    disabled,
    error: problem(path),
    value: text(valueAt(draft, path)),
    onChange: (event: { target: { value: string } }) => set(path, event.target.value || (nullable ? null : "")),
  };
  if (rows === undefined) return <TextField {...common} />;
  return <TextArea {...common} rows={rows} data-mono={mono || undefined} />;
}

/** A number; empty is `null`. What is no number stays in the field until it is one. */
export function NumberRow({ path, placeholder, ...rest }: FieldProps & { placeholder?: string }) {
  const { draft, set, problem, setProblem, disabled } = useForm();
  const value = valueAt(draft, path);
  const [typed, setTyped] = useState<string | null>(null);
  const change = (input: string) => {
    const wrong = numberProblem(path, input);
    setProblem(path, wrong);
    const isNumber = input.trim() !== "" && Number.isFinite(Number(input));
    setTyped(isNumber || input.trim() === "" ? null : input);
    if (isNumber || input.trim() === "") set(path, isNumber ? Number(input) : null);
  };
  return (
    <TextField
      {...rest}
      inputMode="decimal"
      placeholder={placeholder}
      disabled={disabled}
      error={problem(path)}
      value={typed ?? text(value)}
      onChange={(event) => change(event.target.value)}
    />
  );
}

type SelectProps = FieldProps & {
  options: { value: string; label: string }[];
  /** How the choice becomes a value; by default the text itself. */
  onChoose?: (value: string) => void;
};

export function SelectRow({ path, options, onChoose, ...rest }: SelectProps) {
  const { draft, set, problem, disabled } = useForm();
  return (
    <SelectField
      {...rest}
      disabled={disabled}
      error={problem(path)}
      value={text(valueAt(draft, path))}
      onChange={(event) => (onChoose ? onChoose(event.target.value) : set(path, event.target.value || null))}
    >
      {options.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </SelectField>
  );
}

export function CheckRow({ path, label, hint }: FieldProps) {
  const { draft, set, disabled } = useForm();
  return (
    <Checkbox
      label={label}
      hint={hint}
      disabled={disabled}
      checked={valueAt(draft, path) === true}
      onChange={(event) => set(path, event.target.checked)}
    />
  );
}

/** A list of words, one on each line. */
export function WordsRow({ path, ...rest }: FieldProps & { rows?: number; placeholder?: string }) {
  const { draft, set, problem, disabled } = useForm();
  const value = valueAt(draft, path);
  const words = Array.isArray(value) ? value.map((word) => text(word)) : [];
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <TextArea
      rows={3}
      {...rest}
      disabled={disabled}
      error={problem(path)}
      value={typed ?? words.join("\n")}
      onBlur={() => setTyped(null)}
      onChange={(event) => {
        setTyped(event.target.value);
        set(
          path,
          event.target.value
            .split("\n")
            .map((word) => word.trim())
            .filter(Boolean),
        );
      }}
    />
  );
}

/** JSON as text; the draft changes only where it can be read. Empty is `null`. */
export function JsonRow({ path, ...rest }: FieldProps & { rows?: number; placeholder?: string }) {
  const { draft, set, problem, setProblem, disabled } = useForm();
  const value = valueAt(draft, path);
  const [typed, setTyped] = useState<string | null>(null);
  const change = (input: string) => {
    setTyped(input);
    if (input.trim() === "") {
      setProblem(path, undefined);
      set(path, null);
      return;
    }
    try {
      set(path, readJson(input) as Json);
      setProblem(path, undefined);
    } catch (error) {
      setProblem(path, `Not JSON: ${error instanceof Error ? error.message : "unreadable"}.`);
    }
  };
  return (
    <TextArea
      rows={6}
      spellCheck={false}
      {...rest}
      data-mono
      disabled={disabled}
      error={problem(path)}
      value={typed ?? (value === null || value === undefined ? "" : writeJson(value, 2))}
      onBlur={() => problem(path) === undefined && setTyped(null)}
      onChange={(event) => change(event.target.value)}
    />
  );
}

import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useState } from "react";
import { connectionsQuery } from "../../../api/queries";
import { Button } from "../../../components/Button";
import { SelectField, TextArea, TextField } from "../../../components/Field";
import { valueAt, type Json, type JsonObject } from "../draft";
import { JsonRow, NumberRow, SelectRow, TextRow, useForm, WordsRow } from "../form";
import { Pair, Section } from "./Section";
import styles from "./lists.module.css";

type ToolType = "http" | "mcp" | "transfer" | "send_dtmf" | "end_call";

const TYPES: { value: ToolType; label: string; fresh: JsonObject }[] = [
  { value: "http", label: "Web service", fresh: { type: "http", name: "", description: "", url: "", method: "POST" } },
  { value: "mcp", label: "MCP server", fresh: { type: "mcp", url: "" } },
  {
    value: "transfer",
    label: "Transfer the call",
    fresh: { type: "transfer", destinations: [{ name: "", number: "" }] },
  },
  { value: "send_dtmf", label: "Press keys", fresh: { type: "send_dtmf" } },
  { value: "end_call", label: "End the call", fresh: { type: "end_call" } },
];

export function Tools() {
  const { draft, set, disabled } = useForm();
  const value = valueAt(draft, "tools");
  const tools = (Array.isArray(value) ? value : []) as JsonObject[];
  const [type, setType] = useState<ToolType>("http");
  const add = () => {
    const fresh = TYPES.find((each) => each.value === type)?.fresh;
    if (fresh) set("tools", [...tools, fresh]);
  };
  return (
    <Section id="tools" intro="What the agent can do besides talking. Every agent can end the call.">
      {tools.length > 0 && (
        <ul className={styles.items}>
          {tools.map((tool, index) => (
            <Tool
              key={`${index}-${String(tool.type)}`}
              index={index}
              tool={tool}
              onRemove={() =>
                set(
                  "tools",
                  tools.filter((_, i) => i !== index),
                )
              }
            />
          ))}
        </ul>
      )}
      <div className={styles.add}>
        <SelectField
          label="New tool"
          disabled={disabled}
          value={type}
          onChange={(event) => setType(event.target.value as ToolType)}
        >
          {TYPES.map((each) => (
            <option key={each.value} value={each.value}>
              {each.label}
            </option>
          ))}
        </SelectField>
        <Button icon={<Plus />} disabled={disabled} onClick={add}>
          Add tool
        </Button>
      </div>
    </Section>
  );
}

function Tool({ index, tool, onRemove }: { index: number; tool: JsonObject; onRemove: () => void }) {
  const { disabled } = useForm();
  const path = `tools.${index}`;
  const title = TYPES.find((each) => each.value === tool.type)?.label ?? String(tool.type);
  return (
    <li className={styles.item}>
      <div className={styles.head}>
        <span>{title}</span>
        <Button
          variant="ghost"
          size="small"
          icon={<X />}
          aria-label={`Remove tool ${index + 1}`}
          disabled={disabled}
          onClick={onRemove}
        />
      </div>
      {tool.type === "http" && <HttpTool path={path} />}
      {tool.type === "mcp" && <McpTool path={path} />}
      {tool.type === "transfer" && <TransferTool path={path} />}
      {(tool.type === "send_dtmf" || tool.type === "end_call") && (
        <TextRow path={`${path}.description`} label="Description" optional nullable rows={2} hint="When to use it." />
      )}
    </li>
  );
}

function HttpTool({ path }: { path: string }) {
  return (
    <>
      <TextRow path={`${path}.name`} label="Tool name" placeholder="find_table" hint="Letters, digits, _ and -." />
      <TextRow path={`${path}.description`} label="Description" rows={2} hint="Tells the model when to use it." />
      <Pair>
        <SelectRow
          path={`${path}.method`}
          label="Method"
          options={[
            { value: "POST", label: "POST" },
            { value: "GET", label: "GET" },
          ]}
        />
        <NumberRow path={`${path}.timeout_seconds`} label="Timeout (seconds)" optional placeholder="8" />
      </Pair>
      <TextRow path={`${path}.url`} label="URL" placeholder="https://api.example.com/tables" />
      <JsonRow
        path={`${path}.parameters`}
        label="Parameters"
        optional
        rows={5}
        hint="A JSON Schema of the arguments, an object."
        placeholder={'{ "type": "object", "properties": { "day": { "type": "string" } } }'}
      />
      <Requests path={path} />
    </>
  );
}

function McpTool({ path }: { path: string }) {
  return (
    <>
      <TextRow path={`${path}.url`} label="URL" placeholder="https://mcp.example.com/mcp" />
      <WordsRow
        path={`${path}.tools`}
        label="Tools"
        optional
        hint="Names of the server’s tools, one on each line; all if empty."
      />
      <NumberRow path={`${path}.timeout_seconds`} label="Timeout (seconds)" optional placeholder="8" />
      <Requests path={path} />
    </>
  );
}

/** What `http` and `mcp` share. */
function Requests({ path }: { path: string }) {
  const { data } = useQuery(connectionsQuery);
  const secrets = data?.filter(({ kinds }) => kinds.includes("tool")) ?? [];
  return (
    <>
      <SelectRow
        path={`${path}.connection_id`}
        label="Secrets"
        hint="A connection whose credentials are sent as headers."
        options={[{ value: "", label: "None" }, ...secrets.map(({ id, name }) => ({ value: id, label: name }))]}
      />
      <HeaderRow path={`${path}.headers`} />
      <TextRow
        path={`${path}.filler`}
        label="Filler"
        optional
        nullable
        placeholder="One moment, let me look."
        hint="Spoken while the tool runs."
      />
    </>
  );
}

/** Headers as lines of "Name: value". */
function HeaderRow({ path }: { path: string }) {
  const { draft, set, problem, disabled } = useForm();
  const [typed, setTyped] = useState<string | null>(null);
  const headers = (valueAt(draft, path) ?? {}) as JsonObject;
  const lines = Object.entries(headers)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${String(value)}`);
  const change = (input: string) => {
    setTyped(input);
    const pairs = input
      .split("\n")
      .map((line) => /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line))
      .filter((match) => match !== null)
      .map((match): [string, Json] => [match[1] ?? "", match[2] ?? ""]);
    set(path, Object.fromEntries(pairs));
  };
  return (
    <TextArea
      label="Headers"
      optional
      rows={2}
      data-mono
      disabled={disabled}
      error={problem(path)}
      placeholder="X-Shop: {{shop}}"
      hint="One on each line. Whoever can read the agent can read them: keep secrets in a connection."
      value={typed ?? lines.join("\n")}
      onBlur={() => setTyped(null)}
      onChange={(event) => change(event.target.value)}
    />
  );
}

function TransferTool({ path }: { path: string }) {
  const { draft, set, problem, disabled } = useForm();
  const value = valueAt(draft, `${path}.destinations`);
  const destinations = (Array.isArray(value) ? value : []) as JsonObject[];
  const change = (index: number, destination: JsonObject | null) => {
    const next = destinations.map((each, i) => (i === index ? destination : each)).filter((each) => each !== null);
    set(`${path}.destinations`, next);
  };
  return (
    <>
      <TextRow path={`${path}.description`} label="Description" optional nullable rows={2} hint="When to transfer." />
      {destinations.map((destination, index) => (
        <div key={index} className={styles.row}>
          <TextField
            label="Destination"
            placeholder="reception"
            disabled={disabled}
            value={String(destination.name ?? "")}
            error={problem(`${path}.destinations.${index}.name`)}
            onChange={(event) => change(index, { ...destination, name: event.target.value })}
          />
          <TextField
            label="Number"
            placeholder="+12025550142"
            disabled={disabled}
            value={String(destination.number ?? "")}
            error={problem(`${path}.destinations.${index}.number`)}
            onChange={(event) => change(index, { ...destination, number: event.target.value })}
          />
          <Button
            variant="ghost"
            icon={<X />}
            aria-label={`Remove destination ${index + 1}`}
            disabled={disabled}
            onClick={() => change(index, null)}
          />
        </div>
      ))}
      <div>
        <Button
          size="small"
          icon={<Plus />}
          disabled={disabled}
          onClick={() => set(`${path}.destinations`, [...destinations, { name: "", number: "" }])}
        >
          Add destination
        </Button>
      </div>
    </>
  );
}

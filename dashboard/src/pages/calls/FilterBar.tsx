import { useQuery } from "@tanstack/react-query";
import { ListFilter, X } from "lucide-react";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { numbersQuery, type Agent, type PhoneNumber } from "../../api/queries";
import { Button } from "../../components/Button";
import { SelectField, TextField } from "../../components/Field";
import { phone } from "../../lib/format";
import { useKeys } from "../../lib/keyboard";
import type { Parameters } from "../../lib/use-parameters";
import { END_REASONS, ERROR_CODES, plain } from "../../lib/words";
import styles from "./CallsPage.module.css";
import { activeFilters, NO_FILTERS, type FilterName } from "./filter";

const NAMES: Record<FilterName, string> = {
  agent_id: "Agent",
  direction: "Direction",
  number_id: "Number",
  to: "To",
  from: "From",
  end_reason: "Ended",
  error_code: "Failed",
  created_after: "Since",
  created_before: "Until",
};

type FilterBarProps = {
  search: URLSearchParams;
  onChange: (changes: Parameters) => void;
  agents: Agent[] | undefined;
};

/** The filters in force as chips, and the button that adds one. */
export function FilterBar({ search, onChange, agents }: FilterBarProps) {
  const [open, setOpen] = useState(false);
  const numbers = useQuery({ ...numbersQuery, enabled: open || search.has("number_id") });
  const active = activeFilters(search);
  const panel = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    panel.current?.querySelector("select")?.focus();
    const beside = (event: PointerEvent) => {
      if (!panel.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", beside);
    return () => document.removeEventListener("pointerdown", beside);
  }, [open]);
  const escape = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !open) return;
    setOpen(false);
    button.current?.focus();
  };
  useKeys({
    "/": (event) => {
      event.preventDefault();
      setOpen(true);
    },
  });
  return (
    <>
      <div ref={panel} className={styles.filter} onKeyDown={escape}>
        <Button
          ref={button}
          icon={<ListFilter />}
          aria-expanded={open}
          aria-haspopup="dialog"
          onClick={() => setOpen(!open)}
        >
          Filter
        </Button>
        {open && (
          <div role="dialog" aria-label="Filter" className={styles.popup}>
            <Fields search={search} onChange={onChange} agents={agents ?? []} numbers={numbers.data ?? []} />
          </div>
        )}
      </div>
      {active.map(([name, value]) => (
        <span key={name} className={styles.chip}>
          <span>
            <i>{NAMES[name]}</i> {words(name, value, agents, numbers.data)}
          </span>
          <button type="button" aria-label={`Remove filter ${NAMES[name]}`} onClick={() => onChange({ [name]: null })}>
            <X />
          </button>
        </span>
      ))}
      {active.length > 1 && (
        <Button variant="ghost" onClick={() => onChange(NO_FILTERS)}>
          Clear filters
        </Button>
      )}
    </>
  );
}

function words(
  name: FilterName,
  value: string,
  agents: Agent[] | undefined,
  numbers: PhoneNumber[] | undefined,
): string {
  if (name === "agent_id") return agents?.find((agent) => agent.id === value)?.name ?? value;
  if (name === "number_id") {
    return phone(numbers?.find((number) => number.id === value)?.number ?? value);
  }
  if (name === "end_reason") return END_REASONS[value] ?? plain(value);
  if (name === "error_code") return ERROR_CODES[value] ?? plain(value);
  if (name === "direction") return plain(value);
  if (name === "to" || name === "from") return phone(value);
  return value;
}

function Fields(props: {
  search: URLSearchParams;
  onChange: (changes: Parameters) => void;
  agents: Agent[];
  numbers: PhoneNumber[];
}) {
  const { search, onChange } = props;
  const value = (name: FilterName) => search.get(name) ?? "";
  const set = (name: FilterName) => (event: { target: { value: string } }) => onChange({ [name]: event.target.value });
  const select = (name: FilterName, options: [string, string][]) => (
    <SelectField label={NAMES[name]} value={value(name)} onChange={set(name)}>
      <option value="">Any</option>
      {options.map(([code, text]) => (
        <option key={code} value={code}>
          {text}
        </option>
      ))}
    </SelectField>
  );
  return (
    <>
      {select(
        "agent_id",
        props.agents.map((agent) => [agent.id, agent.name]),
      )}
      <div className={styles.pair}>
        {select("direction", [
          ["inbound", "Inbound"],
          ["outbound", "Outbound"],
          ["web", "Web"],
        ])}
        {select(
          "number_id",
          props.numbers.map((number) => [number.id, phone(number.number)]),
        )}
      </div>
      <div className={styles.pair}>
        <NumberFilter name="to" search={search} onChange={onChange} />
        <NumberFilter name="from" search={search} onChange={onChange} />
      </div>
      <div className={styles.pair}>
        {select("end_reason", Object.entries(END_REASONS))}
        {select("error_code", Object.entries(ERROR_CODES))}
      </div>
      <div className={styles.pair}>
        <TextField
          label={NAMES.created_after}
          type="date"
          value={value("created_after")}
          onChange={set("created_after")}
        />
        <TextField
          label={NAMES.created_before}
          type="date"
          value={value("created_before")}
          onChange={set("created_before")}
        />
      </div>
    </>
  );
}

const NUMBER = /^(\+[1-9]\d{6,14}|sips?:\S+)$/;

/** Filters once what is typed is a whole number or address. */
function NumberFilter(props: {
  name: "to" | "from";
  search: URLSearchParams;
  onChange: (changes: Parameters) => void;
}) {
  const { name, search, onChange } = props;
  const [text, setText] = useState(search.get(name) ?? "");
  const change = (typed: string) => {
    setText(typed);
    const bare = typed.startsWith("sip") ? typed.trim() : typed.replace(/[\s().-]/g, "");
    if (bare === "") onChange({ [name]: null });
    else if (NUMBER.test(bare)) onChange({ [name]: bare });
  };
  return (
    <TextField
      label={NAMES[name]}
      value={text}
      placeholder="+1…"
      inputMode="tel"
      onChange={(event) => change(event.target.value)}
    />
  );
}

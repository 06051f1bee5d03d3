import { Plus, X } from "lucide-react";
import { useState } from "react";
import { Button } from "../../../components/Button";
import { Checkbox } from "../../../components/Checkbox";
import { TextField } from "../../../components/Field";
import { valueAt, type JsonObject } from "../draft";
import { useForm } from "../form";
import { More } from "./Section";
import styles from "./lists.module.css";

/** What `{{name}}` is replaced by. Names may hold dots, so the object is set as a whole. */
export function Variables({ used }: { used: string[] }) {
  const { draft, set, problem, disabled } = useForm();
  const [name, setName] = useState("");
  const value = valueAt(draft, "variables");
  const variables = (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {}) as JsonObject;
  const entries = Object.entries(variables).filter(([, variable]) => variable !== null);
  const undeclared = used.filter((each) => !(each in variables));

  const change = (key: string, variable: JsonObject | null) => {
    const rest = Object.fromEntries(Object.entries(variables).filter(([each]) => each !== key));
    set("variables", variable ? { ...rest, [key]: variable } : rest);
  };
  const add = (key: string) => {
    if (key === "" || key in variables) return;
    set("variables", { ...variables, [key]: { required: false, default: null } });
    setName("");
  };
  return (
    <More title={`Variables (${entries.length})`}>
      {entries.length > 0 && (
        <ul className={styles.items}>
          {entries.map(([key, raw]) => {
            const variable = raw as JsonObject;
            return (
              <li key={key} className={styles.item}>
                <div className={styles.head}>
                  <code>{`{{${key}}}`}</code>
                  <Button
                    variant="ghost"
                    size="small"
                    icon={<X />}
                    aria-label={`Remove ${key}`}
                    disabled={disabled}
                    onClick={() => change(key, null)}
                  />
                </div>
                <TextField
                  label="Default"
                  optional
                  disabled={disabled}
                  value={typeof variable.default === "string" ? variable.default : ""}
                  error={problem(`variables.${key}.default`) ?? problem(`variables.${key}`)}
                  onChange={(event) => change(key, { ...variable, default: event.target.value || null })}
                />
                <Checkbox
                  label="Required"
                  hint="A call without it is refused, unless there is a default."
                  disabled={disabled}
                  checked={variable.required === true}
                  onChange={(event) => change(key, { ...variable, required: event.target.checked })}
                />
              </li>
            );
          })}
        </ul>
      )}
      <div className={styles.add}>
        <TextField
          label="New variable"
          placeholder={undeclared[0] ?? "name"}
          disabled={disabled}
          value={name}
          onChange={(event) => setName(event.target.value.replace(/[^A-Za-z0-9_.-]/g, ""))}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            add(name);
          }}
        />
        <Button icon={<Plus />} disabled={disabled} onClick={() => add(name || (undeclared[0] ?? ""))}>
          Add
        </Button>
      </div>
    </More>
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import type { Connection } from "../../api/queries";
import { Button } from "../../components/Button";
import { ErrorText } from "../../components/ErrorNotice";
import { SelectField, TextField } from "../../components/Field";
import { Notice } from "../../components/Notice";
import rows from "../../components/rows.module.css";
import {
  connectionBody,
  connectionPatch,
  settingText,
  type ProviderField,
  type ProviderInfo,
  type ProviderValues,
} from "./providers";
import styles from "./ConnectionForm.module.css";

type ConnectionFormProps = {
  provider: ProviderInfo;
  /** The connection to change; a new one without. */
  connection?: Connection;
  disabled?: boolean;
  onSaved?: (connection: Connection) => void;
};

export function ConnectionForm({ provider, connection, disabled, onSaved }: ConnectionFormProps) {
  const queryClient = useQueryClient();
  const [name, setName] = useState(connection?.name ?? provider.title);
  const [values, setValues] = useState<ProviderValues>(() => initialValues(provider, connection));
  const [warnings, setWarnings] = useState<string[]>([]);
  const patch = connection && connectionPatch(connection, name, values);
  const isUnchanged = patch !== undefined && Object.keys(patch).length === 0;

  const save = useMutation({
    mutationFn: () =>
      connection
        ? take(client.PATCH("/v1/connections/{id}", { params: { path: { id: connection.id } }, body: patch ?? {} }))
        : take(client.POST("/v1/connections", { body: connectionBody(provider.name, name, values) })),
    onSuccess: (saved) => {
      setWarnings(saved.warnings ?? []);
      void queryClient.invalidateQueries({ queryKey: ["connections"] });
      onSaved?.(saved);
    },
  });
  const error = save.error ? asApiError(save.error) : null;
  const known = [...provider.fields, ...(provider.more ?? [])];
  const others =
    error?.errors.filter((field) => field.path !== "name" && !known.some(({ path }) => path === field.path)) ?? [];

  const field = (item: ProviderField) => (
    <ProviderInput
      key={item.path}
      field={item}
      value={values[item.path] ?? ""}
      stored={storedHint(item, connection)}
      error={error?.field(item.path)}
      disabled={disabled}
      onChange={(value) => setValues({ ...values, [item.path]: value })}
    />
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form className={rows.form} onSubmit={submit}>
      <TextField
        label="Name"
        required
        disabled={disabled}
        value={name}
        error={error?.field("name") ?? (error?.code === "name_taken" ? error.detail : undefined)}
        onChange={(event) => setName(event.target.value)}
      />
      {provider.fields.map(field)}
      {provider.more && (
        <details className={styles.more}>
          <summary>More settings</summary>
          <div className={rows.form}>{provider.more.map(field)}</div>
        </details>
      )}
      {others.map((other) => (
        <Notice key={other.path} tone="bad">
          {other.path}: {other.message}
        </Notice>
      ))}
      {error && error.errors.length === 0 && error.code !== "name_taken" && <ErrorText error={error} />}
      {warnings.map((warning) => (
        <Notice key={warning} tone="warn">
          {warning}
        </Notice>
      ))}
      {!disabled && (
        <div className={styles.actions}>
          <Button variant="primary" type="submit" busy={save.isPending} disabled={isUnchanged}>
            {connection ? "Save" : "Create connection"}
          </Button>
        </div>
      )}
    </form>
  );
}

type ProviderInputProps = {
  field: ProviderField;
  value: string;
  /** The last characters of the secret that is stored. */
  stored?: string;
  error?: string;
  disabled?: boolean;
  onChange: (value: string) => void;
};

function ProviderInput({ field, value, stored, error, disabled, onChange }: ProviderInputProps) {
  const isSecret = field.path.startsWith("credentials.");
  const common = { label: field.label, hint: field.hint, error, disabled, optional: !field.required };
  if (field.options) {
    return (
      <SelectField {...common} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">Default</option>
        {field.options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </SelectField>
    );
  }
  return (
    <TextField
      {...common}
      required={field.required && !stored}
      type={isSecret ? "password" : "text"}
      // A password manager would fill in the person's own password.
      autoComplete={isSecret ? "new-password" : "off"}
      spellCheck={false}
      value={value}
      placeholder={stored ? `${stored} (stored; type to replace)` : field.placeholder}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

function initialValues(provider: ProviderInfo, connection: Connection | undefined): ProviderValues {
  const settings = [...provider.fields, ...(provider.more ?? [])].filter(({ path }) => path.startsWith("settings."));
  return Object.fromEntries(
    settings.map(({ path }) => [path, settingText(connection?.settings?.[path.slice("settings.".length)])]),
  );
}

function storedHint(field: ProviderField, connection: Connection | undefined): string | undefined {
  if (!field.path.startsWith("credentials.")) return undefined;
  return connection?.credentials?.[field.path.slice("credentials.".length)];
}

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useState, type FormEvent } from "react";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import { agentsQuery, connectionsQuery, type PhoneNumber } from "../../api/queries";
import { Button } from "../../components/Button";
import { Checkbox } from "../../components/Checkbox";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { CopyId } from "../../components/CopyButton";
import { Dialog } from "../../components/Dialog";
import { ErrorText } from "../../components/ErrorNotice";
import { SelectField, TextField } from "../../components/Field";
import rows from "../../components/rows.module.css";
import { phone } from "../../lib/format";
import { providerInfo } from "../connections/providers";
import styles from "./NumberDialog.module.css";

type NumberDialogProps = {
  /** The number to change; a new one without. */
  number?: PhoneNumber;
  onWarnings: (warnings: string[]) => void;
  onClose: () => void;
};

export function NumberDialog({ number, onWarnings, onClose }: NumberDialogProps) {
  const queryClient = useQueryClient();
  const agents = useQuery(agentsQuery);
  const connections = useQuery(connectionsQuery);
  const carriers = connections.data?.filter(({ kinds }) => kinds.includes("carrier")) ?? [];
  const [digits, setDigits] = useState(number?.number ?? "");
  const [label, setLabel] = useState(number?.label ?? "");
  const [chosen, setConnection] = useState(number?.connection_id);
  const [agent, setAgent] = useState(number?.inbound_agent_id ?? "");
  const [configures, setConfigures] = useState(false);
  const [isDeleting, setDeleting] = useState(false);

  const connectionId = chosen ?? carriers[0]?.id ?? "";
  const connection = carriers.find(({ id }) => id === connectionId);
  const isConfigurable = connection !== undefined && connection.provider !== "simulator";

  const save = useMutation({
    mutationFn: () => {
      const body = {
        number: digits.replace(/[\s().-]/g, ""),
        label: label.trim() || null,
        connection_id: connectionId,
        inbound_agent_id: agent || null,
        configure_carrier: configures && isConfigurable,
      };
      return number
        ? take(client.PATCH("/v1/numbers/{id}", { params: { path: { id: number.id } }, body }))
        : take(client.POST("/v1/numbers", { body }));
    },
    onSuccess: (saved) => {
      onWarnings(saved.warnings ?? []);
      void queryClient.invalidateQueries({ queryKey: ["numbers"] });
      onClose();
    },
  });
  const error = save.error ? asApiError(save.error) : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };

  if (number && isDeleting) {
    return <DeleteNumber number={number} onCancel={() => setDeleting(false)} onDeleted={onClose} />;
  }
  return (
    <Dialog
      open
      title={number ? phone(number.number) : "Add number"}
      description={number ? undefined : "A number that you already have at your carrier."}
      onClose={onClose}
      actions={
        <>
          {number && (
            <Button variant="ghost" icon={<Trash2 />} onClick={() => setDeleting(true)}>
              Remove
            </Button>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form="number" busy={save.isPending}>
            {number ? "Save" : "Add number"}
          </Button>
        </>
      }
    >
      <form id="number" className={rows.form} onSubmit={submit}>
        <TextField
          label="Number"
          type="tel"
          required
          placeholder="+1 202 555 0188"
          hint="With the country code, beginning with +."
          value={digits}
          error={error?.field("number")}
          onChange={(event) => setDigits(event.target.value)}
        />
        <TextField
          label="Label"
          optional
          placeholder="Front desk"
          value={label}
          error={error?.field("label")}
          onChange={(event) => setLabel(event.target.value)}
        />
        <SelectField
          label="Connection"
          required
          value={connectionId}
          error={error?.field("connection_id")}
          onChange={(event) => setConnection(event.target.value)}
        >
          {carriers.map(({ id, name, provider }) => (
            <option key={id} value={id}>
              {name} ({providerInfo(provider).title})
            </option>
          ))}
        </SelectField>
        <SelectField
          label="Inbound agent"
          value={agent}
          hint={agent ? undefined : "Without an agent, calls to this number are refused."}
          error={error?.field("inbound_agent_id")}
          onChange={(event) => setAgent(event.target.value)}
        >
          <option value="">No agent</option>
          {agents.data?.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectField>
        {isConfigurable && (
          <Checkbox
            label="Configure the carrier"
            hint={`Points the number at this service, in your ${providerInfo(connection.provider).title} account.`}
            checked={configures}
            onChange={(event) => setConfigures(event.target.checked)}
          />
        )}
        {number?.inbound_url && (
          <div className={styles.address}>
            <p>To configure it by hand, set this address for incoming calls:</p>
            <CopyId name="inbound URL" value={number.inbound_url} />
          </div>
        )}
        {error && error.errors.length === 0 && <ErrorText error={error} />}
      </form>
    </Dialog>
  );
}

type DeleteNumberProps = { number: PhoneNumber; onCancel: () => void; onDeleted: () => void };

function DeleteNumber({ number, onCancel, onDeleted }: DeleteNumberProps) {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => take(client.DELETE("/v1/numbers/{id}", { params: { path: { id: number.id } } })),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["numbers"] });
      onDeleted();
    },
  });
  return (
    <ConfirmDialog
      open
      title={`Remove ${phone(number.number)}?`}
      confirm="Remove"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onCancel}
    >
      Agents no longer call from it, and calls to it are refused. It stays yours at the carrier.
    </ConfirmDialog>
  );
}

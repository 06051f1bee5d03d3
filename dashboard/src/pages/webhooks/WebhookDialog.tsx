import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useNavigate } from "react-router";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import type { Webhook } from "../../api/queries";
import { Button } from "../../components/Button";
import { Checkbox } from "../../components/Checkbox";
import { Dialog } from "../../components/Dialog";
import { ErrorText } from "../../components/ErrorNotice";
import { TextField } from "../../components/Field";
import rows from "../../components/rows.module.css";
import { SecretDialog } from "../../components/SecretDialog";
import { EVENTS, type EventKind } from "./events";
import styles from "./WebhookDialog.module.css";

/** Adds an endpoint and shows its secret, or changes one. */
export function WebhookDialog({ webhook, onClose }: { webhook?: Webhook; onClose: () => void }) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [url, setUrl] = useState(webhook?.url ?? "");
  const [events, setEvents] = useState<EventKind[]>(webhook?.events ?? []);
  const [isEnabled, setEnabled] = useState(webhook?.enabled ?? true);
  const invalidate = () => void queryClient.invalidateQueries({ queryKey: ["webhooks"] });

  const create = useMutation({
    mutationFn: () => take(client.POST("/v1/webhooks", { body: { url: url.trim(), events } })),
    onSuccess: invalidate,
  });
  const change = useMutation({
    mutationFn: (id: string) =>
      take(
        client.PATCH("/v1/webhooks/{id}", {
          params: { path: { id } },
          body: { url: url.trim(), events, enabled: isEnabled },
        }),
      ),
    onSuccess: () => {
      invalidate();
      onClose();
    },
  });

  if (create.data) {
    const { id, secret } = create.data;
    return (
      <SecretDialog
        open
        title="Signing secret"
        description="This secret is shown once. Store it now: your server checks the signature of each delivery with it."
        secret={secret}
        testId="new-secret"
        onClose={() => {
          onClose();
          void navigate(`/webhooks/${id}`);
        }}
      />
    );
  }

  const failure = create.error ?? change.error;
  const error = failure ? asApiError(failure) : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (webhook) change.mutate(webhook.id);
    else create.mutate();
  };
  const toggle = (kind: EventKind, isOn: boolean) => {
    setEvents(isOn ? [...events, kind] : events.filter((event) => event !== kind));
  };
  return (
    <Dialog
      open
      title={webhook ? "Edit endpoint" : "Add endpoint"}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form="webhook" busy={create.isPending || change.isPending}>
            {webhook ? "Save" : "Add endpoint"}
          </Button>
        </>
      }
    >
      <form id="webhook" className={rows.form} onSubmit={submit}>
        <TextField
          label="URL"
          type="url"
          required
          placeholder="https://hooks.example.com/switchhook"
          hint="A public https address."
          value={url}
          error={error?.field("url")}
          onChange={(event) => setUrl(event.target.value)}
        />
        <fieldset className={styles.events}>
          <legend>Events</legend>
          <p className={styles.hint}>
            {events.length === 0 ? "None chosen: all events are sent." : `${events.length} chosen.`}
          </p>
          {EVENTS.map(({ kind, meaning }) => (
            <Checkbox
              key={kind}
              label={<code>{kind}</code>}
              hint={meaning}
              checked={events.includes(kind)}
              onChange={(event) => toggle(kind, event.target.checked)}
            />
          ))}
        </fieldset>
        {webhook && (
          <Checkbox
            label="Enabled"
            hint="Disabling cancels the deliveries that wait."
            checked={isEnabled}
            onChange={(event) => setEnabled(event.target.checked)}
          />
        )}
        {error && !error.field("url") && <ErrorText error={error} />}
      </form>
    </Dialog>
  );
}

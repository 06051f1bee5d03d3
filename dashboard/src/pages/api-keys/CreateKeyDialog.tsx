import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import { apiKeysQuery } from "../../api/queries";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { ErrorText } from "../../components/ErrorNotice";
import { TextField } from "../../components/Field";
import rows from "../../components/rows.module.css";
import { SecretDialog } from "../../components/SecretDialog";
import styles from "./CreateKeyDialog.module.css";
import { at } from "../../lib/base";

/** Asks for a name, makes the key, and shows it this once. */
export function CreateKeyDialog({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient();
  const [name, setName] = useState("");
  const [days, setDays] = useState("");
  const create = useMutation({
    mutationFn: () =>
      take(
        client.POST("/v1/api-keys", {
          body: { name: name.trim() || null, expires_in_days: days === "" ? null : Number(days) },
        }),
      ),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: apiKeysQuery.queryKey }),
  });

  if (create.data) {
    const { key } = create.data;
    return (
      <SecretDialog
        open
        title="Your new key"
        description="This key is shown once. Store it now."
        secret={key}
        testId="new-key"
        onClose={onClose}
      >
        <div className={styles.example}>
          <p>Try it:</p>
          <pre className={styles.command}>
            curl {window.location.origin + at("/v1/tenant")} \{"\n"} -H "Authorization: Bearer $KEY"
          </pre>
        </div>
      </SecretDialog>
    );
  }

  const error = create.error ? asApiError(create.error) : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Dialog
      open
      title="Create key"
      description="Name it after the program that uses it, so that you know what you revoke."
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form="create-key" busy={create.isPending}>
            Create key
          </Button>
        </>
      }
    >
      <form id="create-key" className={rows.form} onSubmit={submit}>
        <TextField
          label="Name"
          optional
          autoFocus
          value={name}
          placeholder="ci"
          error={error?.field("name")}
          onChange={(event) => setName(event.target.value)}
        />
        <TextField
          label="Expires in days"
          optional
          inputMode="numeric"
          value={days}
          hint="Empty: it never expires."
          error={error?.field("expires_in_days")}
          onChange={(event) => setDays(event.target.value.replace(/\D/g, ""))}
        />
        {error && error.errors.length === 0 && <ErrorText error={error} />}
      </form>
    </Dialog>
  );
}

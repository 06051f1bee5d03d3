import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import type { Role } from "../../api/session";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { ErrorText } from "../../components/ErrorNotice";
import { SelectField, TextField } from "../../components/Field";
import rows from "../../components/rows.module.css";
import { SecretDialog } from "../../components/SecretDialog";
import { ROLES } from "./roles";

/** Invites a person by e-mail address. No message is sent, so it ends with the link to send to them. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("member");
  const invite = useMutation({
    mutationFn: () => take(client.POST("/v1/people", { body: { email: email.trim(), role } })),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: ["people"] }),
  });
  if (invite.data) {
    return (
      <SecretDialog
        open
        title="Invited"
        description={`No message is sent, and this link is shown once: send it to ${invite.data.email}. Whoever signs in with this address can accept it within seven days.`}
        secret={invite.data.invitation_url}
        testId="invitation-link"
        onClose={onClose}
      />
    );
  }
  const error = invite.error ? asApiError(invite.error) : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    invite.mutate();
  };
  return (
    <Dialog
      open
      title="Invite a person"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form="invite" busy={invite.isPending}>
            Invite
          </Button>
        </>
      }
    >
      <form id="invite" className={rows.form} onSubmit={submit}>
        <TextField
          label="Email"
          type="email"
          required
          autoFocus
          placeholder="ana@example.com"
          value={email}
          error={error?.field("email")}
          onChange={(event) => setEmail(event.target.value)}
        />
        <SelectField
          label="Role"
          value={role}
          hint={ROLES.find((each) => each.role === role)?.may}
          error={error?.field("role")}
          onChange={(event) => setRole(event.target.value as Role)}
        >
          {ROLES.map((each) => (
            <option key={each.role} value={each.role}>
              {each.title}
            </option>
          ))}
        </SelectField>
        {error && error.errors.length === 0 && <ErrorText error={error} />}
      </form>
    </Dialog>
  );
}

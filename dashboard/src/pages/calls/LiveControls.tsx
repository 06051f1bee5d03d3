import { useMutation, useQueryClient } from "@tanstack/react-query";
import { PhoneForwarded, PhoneOff, Volume2 } from "lucide-react";
import { useState } from "react";
import { useSession } from "../../lib/use-session";
import { callQuery } from "../../api/calls";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import type { Call } from "../../api/queries";
import { mayChange } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ErrorText } from "../../components/ErrorNotice";
import { TextField } from "../../components/Field";
import { phone } from "../../lib/format";
import styles from "./CallPage.module.css";

/** Speaking up and passing on, while the call is in progress. */
export function LiveControls({ call }: { call: Call }) {
  const session = useSession();
  if (call.status !== "in_progress" || !mayChange(session)) return null;
  return (
    <Card title="Control" flush>
      <div className={styles.live}>
        <SayForm call={call} />
        <TransferForm call={call} />
      </div>
    </Card>
  );
}

function SayForm({ call }: { call: Call }) {
  const [text, setText] = useState("");
  const say = useMutation({
    mutationFn: () =>
      take(
        client.POST("/v1/calls/{id}/say", {
          params: { path: { id: call.id } },
          body: { text: text.trim() },
        }),
      ),
    onSuccess: () => setText(""),
  });
  const error = say.error ? asApiError(say.error) : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "" && !say.isPending) say.mutate();
      }}
    >
      <TextField
        label="Say"
        value={text}
        maxLength={2000}
        placeholder="A colleague will join us in a minute."
        onChange={(event) => setText(event.target.value)}
        error={error && (error.field("text") ?? error.detail)}
      />
      <Button type="submit" icon={<Volume2 />} busy={say.isPending} disabled={text.trim() === ""}>
        Say
      </Button>
    </form>
  );
}

function TransferForm({ call }: { call: Call }) {
  const [to, setTo] = useState("");
  const [asking, setAsking] = useState(false);
  const bare = to.startsWith("sip") ? to.trim() : to.replace(/[\s().-]/g, "");
  const transfer = useMutation({
    mutationFn: () =>
      take(
        client.POST("/v1/calls/{id}/transfer", {
          params: { path: { id: call.id } },
          body: { to: bare },
        }),
      ),
    onSettled: () => setAsking(false),
  });
  const error = transfer.error ? asApiError(transfer.error) : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (bare !== "") setAsking(true);
      }}
    >
      <TextField
        label="Transfer to"
        value={to}
        inputMode="tel"
        placeholder="+1 202 555 0142"
        onChange={(event) => setTo(event.target.value)}
        error={error && (error.field("to") ?? error.detail)}
        hint={transfer.isSuccess ? "The carrier was asked." : undefined}
      />
      <Button type="submit" icon={<PhoneForwarded />} disabled={bare === ""}>
        Transfer
      </Button>
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={`Transfer to ${phone(bare)}?`}
        confirm="Transfer"
        busy={transfer.isPending}
        onConfirm={() => transfer.mutate()}
      >
        The agent leaves the call. It cannot be taken back.
      </ConfirmDialog>
    </form>
  );
}

/** Ends the call at once, as a handset does: whoever hangs up means it. */
export function HangUpButton({ call }: { call: Call }) {
  const session = useSession();
  const queries = useQueryClient();
  const hangUp = useMutation({
    mutationFn: () => take(client.POST("/v1/calls/{id}/hangup", { params: { path: { id: call.id } } })),
    onSuccess: (ended) => {
      queries.setQueryData(callQuery(call.id).queryKey, ended);
      void queries.invalidateQueries({ queryKey: ["calls", call.id] });
    },
  });
  return (
    <>
      {hangUp.error && <ErrorText error={asApiError(hangUp.error)} />}
      <Button
        variant="danger"
        icon={<PhoneOff />}
        busy={hangUp.isPending}
        disabled={!mayChange(session)}
        onClick={() => hangUp.mutate()}
      >
        Hang up
      </Button>
    </>
  );
}

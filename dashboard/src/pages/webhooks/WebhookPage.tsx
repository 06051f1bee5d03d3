import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Pencil, RefreshCw, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";
import { client, take } from "../../api/client";
import { asApiError, isMissing } from "../../api/errors";
import type { Webhook } from "../../api/queries";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { Notice } from "../../components/Notice";
import { PageHeader } from "../../components/PageHeader";
import { RelativeTime } from "../../components/RelativeTime";
import rows from "../../components/rows.module.css";
import { SecretDialog } from "../../components/SecretDialog";
import { SkeletonRows } from "../../components/Skeleton";
import { useMayChange } from "../../lib/may-change";
import { Deliveries } from "./Deliveries";
import { eventsWords, hostOf } from "./events";
import { WebhookBadge } from "./WebhookBadge";
import { WebhookDialog } from "./WebhookDialog";
import styles from "./WebhookPage.module.css";

const PARENT = { title: "Webhooks", to: "/webhooks" };

const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ["webhooks", id],
    queryFn: ({ signal }) => take(client.GET("/v1/webhooks/{id}", { params: { path: { id } }, signal })),
    refetchInterval: 5_000,
  });

export function Component() {
  const { id = "" } = useParams();
  const webhook = useQuery(webhookQuery(id));
  if (webhook.isPending) {
    return (
      <Card flush>
        <SkeletonRows rows={6} />
      </Card>
    );
  }
  if (!webhook.data) {
    return (
      <>
        <PageHeader title="Webhook" parent={PARENT} />
        <Card flush>
          {isMissing(webhook.error) ? (
            <EmptyState>No such endpoint here.</EmptyState>
          ) : (
            <ErrorNotice error={webhook.error} retry={() => void webhook.refetch()} />
          )}
        </Card>
      </>
    );
  }
  return <Endpoint webhook={webhook.data} />;
}

function Endpoint({ webhook }: { webhook: Webhook }) {
  const mayChange = useMayChange();
  return (
    <>
      <PageHeader
        title={hostOf(webhook.url)}
        parent={PARENT}
        badge={<WebhookBadge webhook={webhook} />}
        meta={
          <>
            <span className={styles.url}>{webhook.url}</span> · {eventsWords(webhook.events)} · added{" "}
            <RelativeTime at={webhook.created_at} />
          </>
        }
        actions={mayChange && <Actions webhook={webhook} />}
      />
      <div className={rows.stack}>
        <State webhook={webhook} />
        <Deliveries webhookId={webhook.id} mayRedeliver={mayChange} />
      </div>
    </>
  );
}

/** Why events do not arrive, if they do not. */
function State({ webhook }: { webhook: Webhook }) {
  if (!webhook.enabled && webhook.disabled_reason) return <Notice tone="bad">{webhook.disabled_reason}</Notice>;
  if (!webhook.enabled) return <Notice>Disabled: no events are sent.</Notice>;
  if (!webhook.failing_since) return null;
  return (
    <Notice tone="warn">
      Attempts fail since <RelativeTime at={webhook.failing_since} />. After five days of failures only, the endpoint is
      disabled.
    </Notice>
  );
}

type Asking = "edit" | "rotate" | "delete" | null;

function Actions({ webhook }: { webhook: Webhook }) {
  const [asking, setAsking] = useState<Asking>(null);
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const path = { params: { path: { id: webhook.id } } };
  const invalidate = () => void queryClient.invalidateQueries({ queryKey: ["webhooks"] });

  const test = useMutation({
    mutationFn: () => take(client.POST("/v1/webhooks/{id}/test", path)),
    onSuccess: invalidate,
  });
  const rotate = useMutation({
    mutationFn: () => take(client.POST("/v1/webhooks/{id}/rotate-secret", path)),
    onSuccess: () => setAsking(null),
  });
  const remove = useMutation({
    mutationFn: () => take(client.DELETE("/v1/webhooks/{id}", path)),
    onSuccess: () => {
      queryClient.removeQueries({ queryKey: ["webhooks", webhook.id] });
      void queryClient.invalidateQueries({ queryKey: ["webhooks"], exact: true });
      void navigate("/webhooks");
    },
  });

  return (
    <>
      <Button variant="ghost" icon={<Trash2 />} aria-label="Delete endpoint" onClick={() => setAsking("delete")} />
      <Button variant="ghost" icon={<RefreshCw />} onClick={() => setAsking("rotate")}>
        Rotate secret
      </Button>
      <Button icon={<Pencil />} onClick={() => setAsking("edit")}>
        Edit
      </Button>
      <Button
        variant="primary"
        icon={<Send />}
        busy={test.isPending}
        disabled={!webhook.enabled}
        onClick={() => test.mutate()}
      >
        Send test
      </Button>
      <span role="status" className={styles.result}>
        {test.isSuccess && "Test queued; it is the first delivery below."}
        {test.isError && asApiError(test.error).detail}
      </span>
      {asking === "edit" && <WebhookDialog webhook={webhook} onClose={() => setAsking(null)} />}
      <ConfirmDialog
        open={asking === "rotate"}
        title="Rotate the signing secret?"
        confirm="Rotate secret"
        busy={rotate.isPending}
        error={rotate.error}
        onConfirm={() => rotate.mutate()}
        onClose={() => setAsking(null)}
      >
        For 24 hours deliveries are signed with both secrets. Give your server the new one in that time.
      </ConfirmDialog>
      <ConfirmDialog
        open={asking === "delete"}
        title={`Delete the endpoint at ${hostOf(webhook.url)}?`}
        confirm="Delete"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={() => setAsking(null)}
      >
        Its deliveries are canceled, and its secret is erased.
      </ConfirmDialog>
      {rotate.data && (
        <SecretDialog
          open
          title="New signing secret"
          description="This secret is shown once. Store it now. The old one signs for 24 hours more."
          secret={rotate.data.secret}
          testId="new-secret"
          onClose={() => rotate.reset()}
        />
      )}
    </>
  );
}

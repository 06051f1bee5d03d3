import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import { Link } from "react-router";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import type { components } from "../../api/schema";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { CopyId } from "../../components/CopyButton";
import { Dialog } from "../../components/Dialog";
import { ErrorNotice, ErrorText } from "../../components/ErrorNotice";
import { SkeletonRows } from "../../components/Skeleton";
import { clockMillis, dayAndTime, milliseconds, shortId } from "../../lib/format";
import { DeliveryBadge } from "./DeliveryBadge";
import styles from "./DeliveryDialog.module.css";

type Attempt = components["schemas"]["WebhookDeliveryAttempt"];

type DeliveryDialogProps = {
  webhookId: string;
  deliveryId: string;
  mayRedeliver: boolean;
  onClose: () => void;
};

/** One delivery with each of its attempts. */
export function DeliveryDialog({ webhookId, deliveryId, mayRedeliver, onClose }: DeliveryDialogProps) {
  const queryClient = useQueryClient();
  const path = { id: webhookId, delivery_id: deliveryId };
  const delivery = useQuery({
    queryKey: ["webhooks", webhookId, "delivery", deliveryId],
    queryFn: ({ signal }) =>
      take(client.GET("/v1/webhooks/{id}/deliveries/{delivery_id}", { params: { path }, signal })),
    refetchInterval: 2_000,
  });
  const redeliver = useMutation({
    mutationFn: () => take(client.POST("/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver", { params: { path } })),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: ["webhooks", webhookId] }),
  });
  const data = delivery.data;
  return (
    <Dialog
      open
      wide
      title={data?.event ?? "Delivery"}
      onClose={onClose}
      actions={
        <>
          <span role="status" className={styles.result}>
            {redeliver.isSuccess && "Queued again as a new delivery."}
          </span>
          {mayRedeliver && (
            <Button icon={<RotateCw />} busy={redeliver.isPending} onClick={() => redeliver.mutate()}>
              Redeliver
            </Button>
          )}
        </>
      }
    >
      {delivery.isPending && <SkeletonRows rows={3} />}
      {delivery.isError && <ErrorNotice error={delivery.error} retry={() => void delivery.refetch()} />}
      {redeliver.isError && <ErrorText error={asApiError(redeliver.error)} />}
      {data && (
        <>
          <dl className={styles.facts}>
            <dt>State</dt>
            <dd>
              <DeliveryBadge state={data.state} />
            </dd>
            <dt>Created</dt>
            <dd>{dayAndTime(new Date(data.created_at), new Date())}</dd>
            <dt>Delivery</dt>
            <dd>
              <CopyId name="delivery" value={data.id} />
            </dd>
            {data.call_id && (
              <>
                <dt>Call</dt>
                <dd>
                  <Link className="mono" to={`/calls/${data.call_id}`}>
                    {shortId(data.call_id)}
                  </Link>
                </dd>
              </>
            )}
          </dl>
          <section aria-label="Attempts">
            <h3 className={styles.heading}>Attempts</h3>
            {data.attempt_log.length === 0 ? (
              <p className="muted">None yet.</p>
            ) : (
              <ol className={styles.attempts}>
                {data.attempt_log.map((attempt) => (
                  <AttemptRow key={attempt.number} attempt={attempt} />
                ))}
              </ol>
            )}
          </section>
        </>
      )}
    </Dialog>
  );
}

/** To the millisecond today, with the day before. */
function momentOf(at: Date, now: Date): string {
  return at.toDateString() === now.toDateString() ? clockMillis(at) : dayAndTime(at, now);
}

function AttemptRow({ attempt }: { attempt: Attempt }) {
  const isSuccess = attempt.status !== null && attempt.status >= 200 && attempt.status < 300;
  const outcome = attempt.status ?? (attempt.error ? "No answer" : "Under way");
  return (
    <li className={styles.attempt}>
      <div className={styles.line}>
        <span className="numbers muted">{attempt.number}</span>
        <time dateTime={attempt.started_at} className="numbers">
          {momentOf(new Date(attempt.started_at), new Date())}
        </time>
        <Badge tone={isSuccess ? "good" : attempt.error || attempt.status ? "bad" : "accent"}>{outcome}</Badge>
        {attempt.duration_ms !== null && <span className="numbers muted">{milliseconds(attempt.duration_ms)}</span>}
      </div>
      {attempt.error && <p className={styles.error}>{attempt.error}</p>}
      {attempt.response_excerpt && <pre className={styles.excerpt}>{attempt.response_excerpt}</pre>}
    </li>
  );
}

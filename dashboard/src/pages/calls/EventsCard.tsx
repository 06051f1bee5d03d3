import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Check, Dot, RotateCw, X } from "lucide-react";
import { Link } from "react-router";
import { callDeliveriesQuery, callEventsQuery } from "../../api/calls";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import type { Call, CallDelivery, CallEvent } from "../../api/queries";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ErrorNotice, ErrorText } from "../../components/ErrorNotice";
import { RelativeTime } from "../../components/RelativeTime";
import { SkeletonRows } from "../../components/Skeleton";
import { absoluteTime, clock, clockMillis, milliseconds, plural } from "../../lib/format";
import styles from "./CallPage.module.css";

const LOOK_MS = 3000;

/** The call's events, and what became of each of their deliveries. */
export function EventsCard({ call, live }: { call: Call; live: boolean }) {
  const events = useQuery(callEventsQuery(call.id));
  const deliveries = useQuery({
    ...callDeliveriesQuery(call.id),
    refetchInterval: ({ state }) => (live || state.data?.some(isOpen) ? LOOK_MS : false),
  });
  const hosts = [...new Set(deliveries.data?.map((one) => host(one.url)))];
  return (
    <Card
      title={hosts.length > 0 ? "Events and deliveries" : "Events"}
      action={hosts.length === 1 && `to ${hosts[0]}`}
      flush
    >
      {!events.data ? (
        events.error ? (
          <ErrorNotice error={events.error} retry={() => void events.refetch()} />
        ) : (
          <SkeletonRows rows={5} />
        )
      ) : (
        <ol>
          {events.data.map((event) => (
            <Event
              key={event.sequence}
              event={event}
              deliveries={deliveriesOf(event, deliveries.data ?? [])}
              named={hosts.length > 1}
            />
          ))}
        </ol>
      )}
    </Card>
  );
}

/** Each endpoint at the same place below every event. */
function deliveriesOf({ event }: CallEvent, deliveries: CallDelivery[]): CallDelivery[] {
  return deliveries.filter((one) => one.event === event).sort((a, b) => a.url.localeCompare(b.url));
}

function isOpen(delivery: CallDelivery): boolean {
  return delivery.state === "pending" || delivery.state === "sending";
}

function host(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

type Mark = { tone?: "good" | "warn" | "bad"; icon: React.ReactNode };

function mark(deliveries: CallDelivery[]): Mark {
  if (deliveries.length === 0) return { icon: <Dot /> };
  if (deliveries.some((one) => one.state === "failed")) return { tone: "bad", icon: <X /> };
  const retried = deliveries.some((one) => one.attempts > 1 || isOpen(one));
  return retried ? { tone: "warn", icon: <RotateCw /> } : { tone: "good", icon: <Check /> };
}

function Event(props: { event: CallEvent; deliveries: CallDelivery[]; named: boolean }) {
  const at = new Date(props.event.created_at);
  const { tone, icon } = mark(props.deliveries);
  return (
    <li className={styles.event}>
      <span className={styles.mark} data-tone={tone} aria-hidden="true">
        {icon}
      </span>
      <code>{props.event.event}</code>
      <time className={styles.eventTime} dateTime={props.event.created_at} title={absoluteTime(at)}>
        {clockMillis(at)}
      </time>
      {props.deliveries.map((delivery) => (
        <Delivery key={delivery.id} delivery={delivery} named={props.named} />
      ))}
    </li>
  );
}

function Delivery({ delivery, named }: { delivery: CallDelivery; named: boolean }) {
  const queries = useQueryClient();
  const again = useMutation({
    mutationFn: () =>
      take(
        client.POST("/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver", {
          params: { path: { id: delivery.webhook_id, delivery_id: delivery.id } },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["calls", delivery.call_id] }),
  });
  const attempts = delivery.attempt_log;
  return (
    <div className={styles.delivery}>
      <div className={styles.deliveryHead}>
        <span>
          {named && (
            <>
              <Link to={`/webhooks/${delivery.webhook_id}`}>{host(delivery.url)}</Link>:{" "}
            </>
          )}
          <Outcome delivery={delivery} />
        </span>
        {delivery.state === "failed" && (
          <Button size="small" busy={again.isPending} onClick={() => again.mutate()}>
            Redeliver
          </Button>
        )}
      </div>
      {again.error && <ErrorText error={asApiError(again.error)} />}
      {(attempts.length > 1 || delivery.state === "failed") && (
        <ol className={styles.attempts}>
          {attempts.map((attempt) => (
            <li key={attempt.number}>
              <span>{attempt.number}</span>
              <span>{clock(new Date(attempt.started_at))}</span>
              <Badge tone={succeeded(attempt.status) ? "good" : "bad"}>{attempt.status ?? "no answer"}</Badge>
              <span>{attempt.duration_ms === null ? "" : milliseconds(attempt.duration_ms)}</span>
              <code title={attempt.error ?? attempt.response_excerpt ?? undefined}>
                {attempt.error ?? attempt.response_excerpt}
              </code>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function succeeded(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

function Outcome({ delivery }: { delivery: CallDelivery }) {
  const last = delivery.attempt_log[delivery.attempt_log.length - 1];
  const answer = last ? String(last.status ?? "no answer") : "";
  if (delivery.state === "succeeded") {
    if (delivery.attempts > 1) return <>{`${delivery.attempts} attempts, then ${answer}`}</>;
    return <>{last?.duration_ms != null ? `${answer} in ${milliseconds(last.duration_ms)}` : answer}</>;
  }
  if (delivery.state === "canceled") return <>Canceled</>;
  if (delivery.state === "failed") return <>Failed after {plural(delivery.attempts, "attempt")}</>;
  if (!last) return <>Waits</>;
  return (
    <>
      {answer}, {plural(delivery.attempts, "attempt")}
      {delivery.next_attempt_at && (
        <>
          ; next <RelativeTime at={delivery.next_attempt_at} />
        </>
      )}
    </>
  );
}

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Inbox } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { client, take } from "../../api/client";
import type { Delivery } from "../../api/queries";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { RelativeTime } from "../../components/RelativeTime";
import rows from "../../components/rows.module.css";
import { SkeletonRows } from "../../components/Skeleton";
import { Row, Table, Td, Th } from "../../components/Table";
import { plural } from "../../lib/format";
import { useParameters, withParameters } from "../../lib/use-parameters";
import { DELIVERY_STATES, DeliveryBadge } from "./DeliveryBadge";
import { DeliveryDialog } from "./DeliveryDialog";
import { EVENTS } from "./events";
import styles from "./Deliveries.module.css";

/** The states that only move on when nobody looks. */
const OPEN = ["pending", "sending"];
const POLL_MS = 2_000;

/** The deliveries of one endpoint; filters and the open delivery are in the address. */
export function Deliveries({ webhookId, mayRedeliver }: { webhookId: string; mayRedeliver: boolean }) {
  const [search, setParameters] = useParameters({ replace: true });
  const [state, event, open] = [search.get("state"), search.get("event"), search.get("delivery")];

  const deliveries = useInfiniteQuery({
    queryKey: ["webhooks", webhookId, "deliveries", state, event],
    queryFn: ({ pageParam, signal }) =>
      take(
        client.GET("/v1/webhooks/{id}/deliveries", {
          params: {
            path: { id: webhookId },
            query: {
              limit: 50,
              cursor: pageParam ?? undefined,
              state: state ? [state as Delivery["state"]] : undefined,
              event: event ? [event as Delivery["event"]] : undefined,
            },
          },
          signal,
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
    refetchInterval: (query) => {
      const seen = query.state.data?.pages.flatMap((page) => page.data) ?? [];
      return seen.some((delivery) => OPEN.includes(delivery.state)) ? POLL_MS : 5 * POLL_MS;
    },
  });
  const list = deliveries.data?.pages.flatMap((page) => page.data) ?? [];

  return (
    <Card
      flush
      title="Deliveries"
      action={
        <>
          <Filter label="State" value={state} onChange={(value) => setParameters({ state: value })}>
            {Object.entries(DELIVERY_STATES).map(([value, { word }]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </Filter>
          <Filter label="Event" value={event} onChange={(value) => setParameters({ event: value })}>
            {[...EVENTS.map(({ kind }) => kind), "webhook.test"].map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </Filter>
        </>
      }
    >
      {deliveries.isPending ? (
        <SkeletonRows rows={6} />
      ) : deliveries.isError ? (
        <ErrorNotice error={deliveries.error} retry={() => void deliveries.refetch()} />
      ) : list.length === 0 ? (
        <EmptyState
          icon={<Inbox />}
          action={
            (state || event) && (
              <Button onClick={() => setParameters({ state: null, event: null })}>Clear filters</Button>
            )
          }
        >
          {state || event ? "Nothing matches these filters." : "No deliveries yet. Send a test, or place a call."}
        </EmptyState>
      ) : (
        <>
          <DeliveryTable
            deliveries={list}
            addressOf={(id) => `?${withParameters(search.toString(), { delivery: id })}`}
          />
          {deliveries.hasNextPage && (
            <div className={styles.more}>
              <Button size="small" busy={deliveries.isFetchingNextPage} onClick={() => void deliveries.fetchNextPage()}>
                Show older
              </Button>
            </div>
          )}
        </>
      )}
      {open && (
        <DeliveryDialog
          webhookId={webhookId}
          deliveryId={open}
          mayRedeliver={mayRedeliver}
          onClose={() => setParameters({ delivery: null })}
        />
      )}
    </Card>
  );
}

type FilterProps = {
  label: string;
  value: string | null;
  onChange: (value: string | null) => void;
  children: ReactNode;
};

function Filter({ label, value, onChange, children }: FilterProps) {
  return (
    <span className={styles.filter}>
      <select aria-label={label} value={value ?? ""} onChange={(event) => onChange(event.target.value || null)}>
        <option value="">Every {label.toLowerCase()}</option>
        {children}
      </select>
    </span>
  );
}

type DeliveryTableProps = { deliveries: Delivery[]; addressOf: (id: string) => string };

function DeliveryTable({ deliveries, addressOf }: DeliveryTableProps) {
  return (
    <Table label="Deliveries">
      <thead>
        <tr>
          <Th>Event</Th>
          <Th>State</Th>
          <Th hide="phone" end>
            Attempts
          </Th>
          <Th hide="tablet">Next attempt</Th>
          <Th hide="phone" end>
            When
          </Th>
        </tr>
      </thead>
      <tbody>
        {deliveries.map((delivery) => (
          <Row key={delivery.id} link>
            <Td>
              <div className={rows.name}>
                <Link replace to={addressOf(delivery.id)}>
                  <code>{delivery.event}</code>
                </Link>
                <span className={`${rows.sub} ${rows.onPhone}`}>
                  {plural(delivery.attempts, "attempt")} · <RelativeTime at={delivery.created_at} />
                </span>
              </div>
            </Td>
            <Td>
              <DeliveryBadge state={delivery.state} />
            </Td>
            <Td hide="phone" end>
              {delivery.attempts}
            </Td>
            <Td hide="tablet" muted>
              {delivery.next_attempt_at && OPEN.includes(delivery.state) ? (
                <RelativeTime at={delivery.next_attempt_at} />
              ) : (
                "–"
              )}
            </Td>
            <Td hide="phone" end muted>
              <RelativeTime at={delivery.created_at} />
            </Td>
          </Row>
        ))}
      </tbody>
    </Table>
  );
}

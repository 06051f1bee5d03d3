import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useSearchParams } from "react-router";
import { isMissing } from "../../api/errors";
import { client, take } from "../../api/client";
import type { Usage } from "../../api/queries";
import { BarChart } from "../../charts/BarChart";
import { ChartCard } from "../../charts/Chart";
import { Card } from "../../components/Card";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";
import rows from "../../components/rows.module.css";
import { Skeleton, SkeletonRows } from "../../components/Skeleton";
import { Table, Td, Th } from "../../components/Table";
import { cost, count, milliseconds } from "../../lib/format";
import { providerInfo } from "../connections/providers";
import { dayLabel, daysOf, minutesText, RANGES, startOf } from "./range";
import styles from "./UsagePage.module.css";

export function Component() {
  const [search, setSearch] = useSearchParams();
  const days = daysOf(search.get("days"));
  const usage = useQuery({
    queryKey: ["usage", days],
    queryFn: ({ signal }) =>
      take(client.GET("/v1/usage", { params: { query: { after: startOf(days, new Date()).toISOString() } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: 60_000,
    retry: false,
  });
  return (
    <>
      <PageHeader
        title="Usage"
        meta="Calls by the day on which they ended (UTC). Cost is what providers charge, by the price table."
        actions={
          <RangePicker days={days} onChoose={(value) => setSearch({ days: String(value) }, { replace: true })} />
        }
      />
      {usage.data ? (
        <Figures usage={usage.data} />
      ) : usage.isError ? (
        <Card flush>
          {isMissing(usage.error) ? (
            <EmptyState>This service does not add up its usage yet.</EmptyState>
          ) : (
            <ErrorNotice error={usage.error} retry={() => void usage.refetch()} />
          )}
        </Card>
      ) : (
        <Loading />
      )}
    </>
  );
}

function RangePicker({ days, onChoose }: { days: number; onChoose: (days: number) => void }) {
  return (
    <div role="group" aria-label="Range" className={styles.ranges}>
      {RANGES.map((range) => (
        <button
          key={range.days}
          type="button"
          className={styles.range}
          aria-pressed={range.days === days}
          onClick={() => onChoose(range.days)}
        >
          {range.label}
        </button>
      ))}
    </div>
  );
}

function Loading() {
  return (
    <div className={rows.stack} role="status" aria-label="Loading">
      <Skeleton height={76} />
      <Card>
        <Skeleton height={176} />
      </Card>
      <Card flush>
        <SkeletonRows rows={3} />
      </Card>
    </div>
  );
}

function Figures({ usage }: { usage: Usage }) {
  const { totals, days } = usage;
  return (
    <div className={rows.stack}>
      <dl className={styles.totals}>
        <Total name="Cost" value={cost(totals.cost_usd, totals.unpriced)} />
        <Total name="Minutes" value={minutesText(totals.minutes)} />
        <Total name="Calls" value={count(totals.calls)} />
      </dl>
      <div className={styles.charts}>
        <ChartCard
          title="Cost a day"
          heads={["Day", "Cost"]}
          rows={days.map((day) => ({ label: dayLabel(day.start), values: [cost(day.cost_usd, day.unpriced)] }))}
        >
          <BarChart
            label="Cost a day"
            whole={false}
            names={["Cost"]}
            format={(value) => axisDollars(value)}
            bars={days.map((day) => bar(day.start, day.cost_usd ?? 0))}
          />
        </ChartCard>
        <ChartCard
          title="Minutes a day"
          heads={["Day", "Minutes", "Calls"]}
          rows={days.map((day) => ({
            label: dayLabel(day.start),
            values: [minutesText(day.minutes), count(day.calls)],
          }))}
        >
          <BarChart
            label="Minutes a day"
            names={["Minutes"]}
            format={minutesText}
            bars={days.map((day) => bar(day.start, day.minutes))}
          />
        </ChartCard>
      </div>
      <Card flush title="By agent">
        {usage.agents.length === 0 ? (
          <NoCalls />
        ) : (
          <Breakdown
            label="Usage by agent"
            first="Agent"
            rows={usage.agents.map((agent) => ({
              ...agent,
              id: agent.agent_id,
              title: agent.name ? <Link to={`/agents/${agent.agent_id}`}>{agent.name}</Link> : "Deleted agent",
              response: agent.response_ms.p50,
            }))}
          />
        )}
      </Card>
      <Card flush title="By connection">
        {usage.connections.length === 0 ? (
          <NoCalls />
        ) : (
          <Breakdown
            label="Usage by connection"
            first="Connection"
            rows={usage.connections.map((connection) => ({
              ...connection,
              id: connection.connection_id ?? "browser",
              title: <ConnectionName id={connection.connection_id} name={connection.name} />,
              note: connection.name && connection.provider ? providerInfo(connection.provider).title : undefined,
            }))}
          />
        )}
      </Card>
    </div>
  );
}

function bar(start: string, value: number) {
  const label = dayLabel(start);
  return { label, name: label, parts: [value] };
}

/** Few digits on an axis. */
function axisDollars(value: number): string {
  return `$${value.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
}

function Total({ name, value }: { name: string; value: string }) {
  return (
    <div className={styles.total}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function NoCalls() {
  return <EmptyState>No calls ended in these days.</EmptyState>;
}

function ConnectionName({ id, name }: { id: string | null; name: string | null }) {
  if (id === null) return "Browser";
  return name === null ? "Deleted connection" : <Link to={`/connections/${id}`}>{name}</Link>;
}

interface BreakdownRow {
  id: string;
  title: ReactNode;
  note?: string;
  calls: number;
  minutes: number;
  cost_usd: number | null;
  unpriced: boolean;
  response?: number | null;
}

function Breakdown({ label, first, rows: list }: { label: string; first: string; rows: BreakdownRow[] }) {
  const hasResponse = list.some((row) => row.response !== undefined);
  return (
    <Table label={label}>
      <thead>
        <tr>
          <Th>{first}</Th>
          <Th end hide="phone">
            Calls
          </Th>
          <Th end>Minutes</Th>
          {hasResponse && (
            <Th end hide="tablet">
              Response, p50
            </Th>
          )}
          <Th end>Cost</Th>
        </tr>
      </thead>
      <tbody>
        {list.map((row) => (
          <tr key={row.id}>
            <Td>
              <div className={rows.name}>
                <span className={rows.title}>{row.title}</span>
                {row.note && <span className={rows.sub}>{row.note}</span>}
              </div>
            </Td>
            <Td end hide="phone">
              {count(row.calls)}
            </Td>
            <Td end>{minutesText(row.minutes)}</Td>
            {hasResponse && (
              <Td end hide="tablet">
                {row.response ? milliseconds(row.response) : "–"}
              </Td>
            )}
            <Td end>{cost(row.cost_usd, row.unpriced)}</Td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

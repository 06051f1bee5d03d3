import { useQuery } from "@tanstack/react-query";
import { BarChart, barLegend } from "../../charts/BarChart";
import { ChartCard, LegendList } from "../../charts/Chart";
import { LineChart, lineLegend } from "../../charts/LineChart";
import { statisticsQuery } from "../../api/statistics";
import { isMissing } from "../../api/errors";
import { Card } from "../../components/Card";
import { ErrorNotice } from "../../components/ErrorNotice";
import { Skeleton } from "../../components/Skeleton";
import { count, dayAndTime } from "../../lib/format";
import styles from "./OverviewPage.module.css";

/** What a caller takes for an immediate answer. */
const TARGET_MS = 600;
const PARTS = ["completed", "failed"];

const hour = (start: string) => new Date(start).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

/** The last 24 hours: calls, and how fast they were answered. */
export function Plots() {
  const day = useQuery(statisticsQuery("last 24 hours", () => ({ interval: "hour" })));
  if (day.error && !day.data) {
    // An older service has no statistics; then there is nothing to plot.
    if (isMissing(day.error)) return null;
    return (
      <Card title="Calls per hour">
        <ErrorNotice error={day.error} retry={() => void day.refetch()} />
      </Card>
    );
  }
  if (!day.data) {
    return (
      <div className={styles.plots}>
        {["Calls per hour", "Response time"].map((title) => (
          <Card key={title} title={title}>
            <Skeleton height={200} />
          </Card>
        ))}
      </div>
    );
  }
  const now = new Date();
  const bars = day.data.buckets.map((bucket) => ({
    label: hour(bucket.start),
    name: dayAndTime(new Date(bucket.start), now),
    parts: [bucket.completed, bucket.failed],
  }));
  const points = day.data.buckets.map((bucket) => ({
    label: hour(bucket.start),
    name: dayAndTime(new Date(bucket.start), now),
    p50: bucket.response_ms.p50,
    p95: bucket.response_ms.p95,
  }));
  const { totals } = day.data;
  const read = (value: number | null) => (value === null ? "–" : `${Math.round(value)} ms`);
  return (
    <div className={styles.plots}>
      <ChartCard
        title="Calls per hour"
        legend={<LegendList items={barLegend(PARTS)} />}
        heads={["Hour", "Completed", "Failed"]}
        rows={bars.map((bar) => ({ label: bar.name, values: bar.parts.map(count) }))}
      >
        <BarChart
          label={`Calls per hour in the last 24 hours: ${count(totals.completed)} completed, ${count(totals.failed)} failed`}
          bars={bars}
          names={PARTS}
        />
      </ChartCard>
      <ChartCard
        title="Response time"
        legend={<LegendList items={lineLegend} />}
        heads={["Hour", "p50", "p95"]}
        rows={points.map((point) => ({
          label: point.name,
          values: [read(point.p50), read(point.p95)],
        }))}
      >
        <LineChart
          label={`Response time per hour in the last 24 hours: p50 ${read(totals.response_ms.p50)}, p95 ${read(totals.response_ms.p95)}`}
          points={points}
          target={TARGET_MS}
        />
      </ChartCard>
    </div>
  );
}

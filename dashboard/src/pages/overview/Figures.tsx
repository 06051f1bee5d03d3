import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { tenantQuery } from "../../api/queries";
import { statisticsQuery } from "../../api/statistics";
import { Skeleton } from "../../components/Skeleton";
import { count, percent, plural } from "../../lib/format";
import styles from "./OverviewPage.module.css";
import { midnight, yesterday } from "./ranges";

/** The five figures: now, today, how many completed, how fast, this month. */
export function Figures() {
  const tenant = useQuery(tenantQuery);
  const today = useQuery(statisticsQuery("today", () => ({ interval: "hour", after: midnight().toISOString() })));
  const before = useQuery(statisticsQuery("yesterday until now", yesterday));
  const now = tenant.data?.concurrent_calls;
  const month = tenant.data?.monthly_calls;
  const totals = today.data?.totals;
  const past = before.data?.totals.calls;
  const missing = today.error ? "–" : undefined;
  const monthName = new Date().toLocaleDateString("en-GB", { month: "long" });
  return (
    <dl className={styles.figures}>
      <Figure
        title="Calls now"
        value={now && count(now.in_use)}
        beside={now && `of ${count(now.limit)}`}
        below={now && <Meter used={now.in_use} limit={now.limit} />}
      />
      <Figure
        title="Today"
        value={totals ? count(totals.calls) : missing}
        beside={totals && past ? <Change now={totals.calls} before={past} /> : undefined}
        below={
          past === undefined
            ? undefined
            : past === 0
              ? "none by this time yesterday"
              : `${count(past)} by this time yesterday`
        }
      />
      <Figure
        title="Completed"
        value={totals ? (totals.calls > 0 ? percent(totals.completed / totals.calls) : "–") : missing}
        below={
          totals &&
          (totals.failed > 0 ? `${count(totals.failed)} failed` : totals.calls > 0 ? "none failed" : "no calls today")
        }
      />
      <Figure
        title="Response time"
        value={totals ? (totals.response_ms.p50 === null ? "–" : count(Math.round(totals.response_ms.p50))) : missing}
        beside={totals?.response_ms.p50 != null ? "ms p50" : undefined}
        below={
          totals &&
          (totals.response_ms.p95 === null
            ? "no answers today"
            : `p95 ${count(Math.round(totals.response_ms.p95))} ms of ${plural(totals.response_ms.n, "answer")}`)
        }
      />
      <Figure
        title={monthName}
        value={month && count(month.used)}
        beside={month && (month.limit === null ? "calls" : `of ${count(month.limit)}`)}
        below={month && month.limit !== null && <Meter used={month.used} limit={month.limit} />}
      />
    </dl>
  );
}

function Figure(props: { title: string; value?: string; beside?: ReactNode; below?: ReactNode }) {
  return (
    <div className={styles.figure}>
      <dt>{props.title}</dt>
      {props.value === undefined ? (
        <dd>
          <Skeleton width={88} height={34} />
        </dd>
      ) : (
        <dd className={styles.value}>
          {props.value} {props.beside && <span className={styles.beside}>{props.beside}</span>}
        </dd>
      )}
      {props.below && <dd className={styles.below}>{props.below}</dd>}
    </div>
  );
}

function Change({ now, before }: { now: number; before: number }) {
  const change = Math.round(((now - before) / before) * 100);
  const text = `${change > 0 ? "+" : change < 0 ? "−" : "±"}${Math.abs(change)} %`;
  return <span className={change > 0 ? styles.up : styles.down}>{text}</span>;
}

const NEAR = 0.8;

function Meter({ used, limit }: { used: number; limit: number }) {
  const share = limit > 0 ? Math.min(1, used / limit) : 0;
  return (
    <div className={styles.meter} aria-hidden="true">
      <div className={share >= NEAR ? styles.near : undefined} style={{ width: `${share * 100}%` }} />
    </div>
  );
}

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { tenantQuery, type Tenant } from "../../api/queries";
import { Card } from "../../components/Card";
import { CopyId } from "../../components/CopyButton";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";
import { RelativeTime } from "../../components/RelativeTime";
import rows from "../../components/rows.module.css";
import { SkeletonRows } from "../../components/Skeleton";
import { cost, count, plural } from "../../lib/format";
import { LeaveTenant } from "./LeaveTenant";
import { People } from "./People";
import styles from "./SettingsPage.module.css";
import { storedAmounts } from "./stored";

export function Component() {
  const tenant = useQuery(tenantQuery);
  return (
    <>
      <PageHeader title="Settings" meta={tenant.data?.name} />
      <div className={rows.stack}>
        <People />
        {tenant.data ? (
          <>
            <Limits tenant={tenant.data} />
            <Policy tenant={tenant.data} />
            <About tenant={tenant.data} />
          </>
        ) : (
          <Card flush>
            {tenant.isError ? (
              <ErrorNotice error={tenant.error} retry={() => void tenant.refetch()} />
            ) : (
              <SkeletonRows rows={4} />
            )}
          </Card>
        )}
      </div>
    </>
  );
}

function Limits({ tenant }: { tenant: Tenant }) {
  const { concurrent_calls: now, monthly_calls: month, rate_limit: rate } = tenant;
  return (
    <Card title="Limits" note="The operator of this service sets them.">
      <dl className={styles.facts}>
        <Fact name="Concurrent calls" hint="Queued, dialing or in progress">
          <Share used={now.in_use} limit={now.limit} />
        </Fact>
        <Fact
          name="Monthly calls"
          hint={
            <>
              Next month begins <RelativeTime at={month.resets_at} />
            </>
          }
        >
          {month.limit === null ? (
            `${count(month.used)} so far, no cap`
          ) : (
            <Share used={month.used} limit={month.limit} />
          )}
        </Fact>
        <Fact name="Rate limit" hint="Requests to the API with a key">
          {count(rate.limit)} in {plural(rate.window_seconds, "second")}
        </Fact>
        {storedAmounts(tenant.stored).map(({ name, hint, used, limit, format }) => (
          <Fact key={name} name={name} hint={hint}>
            <Share used={used} limit={limit} format={format} />
          </Fact>
        ))}
      </dl>
    </Card>
  );
}

function Share({ used, limit, format = count }: { used: number; limit: number; format?: (value: number) => string }) {
  const isNear = limit > 0 && used >= 0.8 * limit;
  return (
    <div className={styles.share}>
      <span>
        {format(used)} of {format(limit)}
      </span>
      <meter
        className={isNear ? styles.near : undefined}
        aria-label="Used"
        min={0}
        max={Math.max(1, limit)}
        value={used}
      />
    </div>
  );
}

function Policy({ tenant }: { tenant: Tenant }) {
  const { allow, deny, per_number_per_day: perNumber, cost_per_day_usd: cap } = tenant.dial_policy;
  return (
    <Card title="Dial policy" note="Which numbers agents may call.">
      <dl className={styles.facts}>
        <Fact name="Allowed">{allow.length === 0 ? "Every country" : <Prefixes list={allow} />}</Fact>
        <Fact name="Denied">
          {deny.length > 0 && <Prefixes list={deny} />} Premium-rate, shared-cost and satellite numbers, unless allowed
        </Fact>
        <Fact name="Calls to one number">
          {perNumber === null ? "No limit" : `${plural(perNumber, "call")} in 24 hours`}
        </Fact>
        <Fact name="Cost a day">{cap === null ? "No cap" : cost(cap)}</Fact>
      </dl>
      <p className={styles.how}>
        Change it on the server: <code>switchhook tenant set {tenant.id} --dial-allow +1,+44</code>
      </p>
    </Card>
  );
}

function Prefixes({ list }: { list: string[] }) {
  return (
    <ul className={styles.prefixes}>
      {list.map((prefix) => (
        <li key={prefix}>{prefix}</li>
      ))}
    </ul>
  );
}

function About({ tenant }: { tenant: Tenant }) {
  return (
    <Card title="Tenant" action={<LeaveTenant tenant={tenant} />}>
      <dl className={styles.facts}>
        <Fact name="Name">{tenant.name}</Fact>
        <Fact name="Tenant ID">
          <CopyId name="tenant id" value={tenant.id} />
        </Fact>
        <Fact name="Created">
          <RelativeTime at={tenant.created_at} />
        </Fact>
      </dl>
    </Card>
  );
}

function Fact({ name, hint, children }: { name: string; hint?: ReactNode; children: ReactNode }) {
  return (
    <div className={styles.fact}>
      <dt>
        {name}
        {hint && <span className={styles.hint}>{hint}</span>}
      </dt>
      <dd>{children}</dd>
    </div>
  );
}

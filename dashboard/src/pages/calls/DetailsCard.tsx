import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import type { ReactNode } from "react";
import { connectionsQuery, type Call } from "../../api/queries";
import { Card } from "../../components/Card";
import { CopyId } from "../../components/CopyButton";
import { phone } from "../../lib/format";
import { shownValue } from "../../lib/json";
import { plain, providerName } from "../../lib/words";
import styles from "./CallPage.module.css";

/** Ids to copy, the carrier's cause, and the caller's own data. */
export function DetailsCard({ call }: { call: Call }) {
  const connections = useQuery(connectionsQuery);
  const { carrier } = call;
  const connection = connections.data?.find((one) => one.id === carrier.connection_id);
  const rows: [string, ReactNode][] = [
    ["Call", <CopyId key="call" name="call" value={call.id} />],
    ["To", <CopyId key="to" name="number" value={call.to} shown={phone(call.to)} />],
    ["From", <CopyId key="from" name="number" value={call.from} shown={phone(call.from)} />],
  ];
  rows.push(["Agent", <CopyId key="agent" name="agent" value={call.agent_id} />]);
  if (connection) {
    rows.push([
      "Connection",
      <Link key="connection" to={`/connections/${connection.id}`}>
        {connection.name}
      </Link>,
    ]);
  } else {
    rows.push(["Carrier", providerName(carrier.provider)]);
  }
  if (carrier.call_id) {
    rows.push(["Carrier call", <CopyId key="carrier" name="call" value={carrier.call_id} />]);
  }
  const cause = causeOf(call);
  if (cause) rows.push(["Cause", cause]);
  if (call.answered_by) rows.push(["Answered by", plain(call.answered_by)]);
  for (const [title, data] of [
    ["Variables", call.variables],
    ["Metadata", call.metadata],
  ] as const) {
    const entries = Object.entries(data as Record<string, unknown>);
    if (entries.length > 0) {
      rows.push([
        title,
        <code key={title}>{entries.map(([name, value]) => `${name}: ${shownValue(value)}`).join(", ")}</code>,
      ]);
    }
  }
  return (
    <Card title="Details">
      <dl className={styles.details}>
        {rows.map(([name, value]) => (
          <div key={name} style={{ display: "contents" }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function causeOf({ carrier }: Call): string {
  const cause = carrier.cause ? plain(carrier.cause) : "";
  if (carrier.sip_code === null) return cause;
  return cause ? `${cause} (SIP ${carrier.sip_code})` : `SIP ${carrier.sip_code}`;
}

import { useQuery } from "@tanstack/react-query";
import { ArrowUpRight, Gauge, Hash, KeyRound, TriangleAlert, type LucideIcon } from "lucide-react";
import { attentionQuery } from "../../api/statistics";
import type { AttentionItem } from "../../api/queries";
import { isMissing } from "../../api/errors";
import { ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { ErrorNotice } from "../../components/ErrorNotice";
import { absoluteTime, clock, dayAndTime, phone, plural } from "../../lib/format";
import styles from "./OverviewPage.module.css";

type Fix = { icon: LucideIcon; bad: boolean; button: string; to: (id: string) => string };

/** The button that mends each kind. */
const FIXES: Record<AttentionItem["kind"], Fix> = {
  credentials_refused: {
    icon: KeyRound,
    bad: true,
    button: "Enter a new token",
    to: (id) => `/connections/${id}`,
  },
  webhook_failing: {
    icon: ArrowUpRight,
    bad: false,
    button: "See deliveries",
    to: (id) => `/webhooks/${id}`,
  },
  limit_near: { icon: Gauge, bad: false, button: "See limits", to: () => "/settings" },
  number_without_agent: {
    icon: Hash,
    bad: false,
    button: "Choose an agent",
    to: (id) => `/numbers?number=${id}`,
  },
};

export function Attention() {
  const attention = useQuery(attentionQuery);
  if (attention.error && !attention.data) {
    if (isMissing(attention.error)) return null;
    return (
      <Card title="Needs attention">
        <ErrorNotice error={attention.error} retry={() => void attention.refetch()} />
      </Card>
    );
  }
  const items = attention.data ?? [];
  if (items.length === 0) return null;
  return (
    <Card
      title={
        <>
          <TriangleAlert className={styles.warning} aria-hidden="true" /> Needs attention
        </>
      }
      note={items.length}
      flush
    >
      <ul>
        {items.map((item) => (
          <Item key={`${item.kind} ${item.subject.id} ${item.limit?.name ?? ""}`} item={item} />
        ))}
      </ul>
    </Card>
  );
}

function Item({ item }: { item: AttentionItem }) {
  const fix = FIXES[item.kind];
  if (!fix) return null;
  const { icon: Icon } = fix;
  return (
    <li className={styles.attention}>
      <span className={`${styles.tile} ${fix.bad ? styles.bad : styles.warn}`} aria-hidden="true">
        <Icon />
      </span>
      <p>
        <strong>{readable(item.detail)}</strong> <Consequence item={item} />
      </p>
      <ButtonLink to={fix.to(item.subject.id)}>{fix.button}</ButtonLink>
    </li>
  );
}

/** The service's sentence as the page writes: typographic quotes, grouped numbers. */
function readable(detail: string): string {
  const text = detail.replace(/"([^"]*)"/g, "“$1”").replace(/\+[1-9]\d{6,14}/g, phone);
  // A host's name stays as it is written.
  return /^\S+\.\S/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

/** "11:04" today, "21 Nov, 11:04" before. */
function Since({ at }: { at: string }) {
  const date = new Date(at);
  const now = new Date();
  const today = date.toDateString() === now.toDateString();
  return (
    <time dateTime={at} title={absoluteTime(date)}>
      {today ? clock(date).slice(0, 5) : dayAndTime(date, now)}
    </time>
  );
}

function Consequence({ item }: { item: AttentionItem }) {
  const since = item.since && (
    <>
      {" "}
      since <Since at={item.since} />
    </>
  );
  if (item.kind === "credentials_refused" && item.count !== null) {
    return (
      <>
        {plural(item.count, "call")} failed{since}.
      </>
    );
  }
  if (item.kind === "webhook_failing") {
    return (
      <>
        {item.count ? `${plural(item.count, "delivery waits", "deliveries wait")}` : "Failing"}
        {since}.
      </>
    );
  }
  return null;
}

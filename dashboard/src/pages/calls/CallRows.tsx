import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useRef, useState } from "react";
import { Link, useNavigate } from "react-router";
import { isLive } from "../../api/calls";
import type { Agent, Call } from "../../api/queries";
import { StatusBadge } from "../../components/Badge";
import { ErrorNotice } from "../../components/ErrorNotice";
import { RelativeTime } from "../../components/RelativeTime";
import { useKeys } from "../../lib/keyboard";
import styles from "./CallsPage.module.css";
import { agentName, DirectionIcon, Ended, Length, partyName, response } from "./cells";

const ROW = 42;
const PHONE_ROW = 64;
const AHEAD = 30;
const phoneSized = window.matchMedia("(max-width: 639px)");

type CallRowsProps = {
  calls: Call[];
  agents: Agent[] | undefined;
  /** The list's address, for going back to it from a call. */
  search: string;
  hasMore: boolean;
  loadMore: () => void;
  error?: unknown;
};

/** The list: only the rows in sight exist, further ones are read as it is scrolled. */
export function CallRows(props: CallRowsProps) {
  const { calls, hasMore, loadMore } = props;
  const list = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  const height = phoneSized.matches ? PHONE_ROW : ROW;
  useEffect(() => {
    const rows = list.current;
    if (rows) setOffset(rows.getBoundingClientRect().top + window.scrollY);
  }, []);
  // A new function would measure 30,000 rows anew on every frame.
  const keyOf = useCallback((index: number) => calls[index]?.id ?? index, [calls]);
  const virtual = useWindowVirtualizer({
    count: calls.length,
    estimateSize: () => height,
    overscan: 8,
    scrollMargin: offset,
    getItemKey: keyOf,
  });
  const items = virtual.getVirtualItems();
  const last = items[items.length - 1]?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= calls.length - AHEAD) loadMore();
  }, [last, calls.length, hasMore, loadMore]);

  const chosen = useChosenRow(calls, props.search, (index) => virtual.scrollToIndex(index, { align: "auto" }));
  return (
    <div role="table" aria-label="Calls" aria-rowcount={hasMore ? -1 : calls.length + 1}>
      <div role="row" aria-rowindex={1} className={styles.head}>
        <span role="columnheader">Status</span>
        <span role="columnheader">Number</span>
        <span role="columnheader">Agent</span>
        <span role="columnheader" className={styles.wide}>
          Ended
        </span>
        <span role="columnheader" className={styles.end}>
          Length
        </span>
        <span role="columnheader" className={`${styles.end} ${styles.wide}`}>
          Turns
        </span>
        <span role="columnheader" className={styles.end}>
          Response
        </span>
        <span role="columnheader" className={styles.end}>
          When
        </span>
      </div>
      <div ref={list} role="rowgroup" className={styles.rows} style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const call = calls[item.index];
          if (!call) return null;
          return (
            <CallRow
              key={item.key}
              call={call}
              index={item.index}
              top={item.start - offset}
              chosen={chosen === call.id}
              agent={agentName(props.agents, call.agent_id)}
              search={props.search}
            />
          );
        })}
      </div>
      {props.error !== undefined && <ErrorNotice error={props.error} retry={loadMore} />}
    </div>
  );
}

function CallRow(props: { call: Call; index: number; top: number; chosen: boolean; agent: string; search: string }) {
  const { call } = props;
  const when = isLive(call) ? "now" : <RelativeTime at={call.created_at} brief />;
  return (
    <div
      role="row"
      aria-rowindex={props.index + 2}
      data-chosen={props.chosen || undefined}
      className={styles.row}
      style={{ transform: `translateY(${props.top}px)` }}
    >
      <span role="cell" className={styles.status}>
        <StatusBadge status={call.status} />
      </span>
      <span role="cell" className={styles.number}>
        <Link to={`/calls/${call.id}`} state={{ list: props.search }} className={styles.party}>
          <DirectionIcon call={call} />
          {partyName(call)}
        </Link>
      </span>
      <span role="cell" className={styles.agent}>
        {props.agent}
      </span>
      <span role="cell" className={`${styles.muted} ${styles.narrow} ${styles.wide}`}>
        <Ended call={call} />
      </span>
      <span role="cell" className={`${styles.end} ${styles.narrow}`}>
        <Length call={call} />
      </span>
      <span role="cell" className={`${styles.end} ${styles.narrow} ${styles.wide}`}>
        {call.turns > 0 ? call.turns : "–"}
      </span>
      <span role="cell" className={`${styles.end} ${styles.narrow}`}>
        {response(call)}
      </span>
      <span role="cell" className={`${styles.end} ${styles.muted} ${styles.when}`}>
        {when}
      </span>
    </div>
  );
}

/** J and K move through the rows, Enter opens the chosen one. */
function useChosenRow(calls: Call[], search: string, show: (index: number) => void): string | null {
  const [chosen, setChosen] = useState<string | null>(null);
  const navigate = useNavigate();
  const move = (step: number) => {
    const at = calls.findIndex((call) => call.id === chosen);
    const next = at < 0 ? 0 : Math.min(calls.length - 1, Math.max(0, at + step));
    setChosen(calls[next]?.id ?? null);
    show(next);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: (event) => {
      // Enter on something focused is that thing's own.
      if (chosen === null || (event.target as HTMLElement).closest("a, button")) return;
      void navigate(`/calls/${chosen}`, { state: { list: search } });
    },
  });
  return chosen;
}

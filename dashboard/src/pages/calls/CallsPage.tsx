import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { PhoneCall } from "lucide-react";
import { useMemo } from "react";
import { callListQuery } from "../../api/calls";
import { agentsQuery, tenantQuery } from "../../api/queries";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";
import { SkeletonRows } from "../../components/Skeleton";
import { useParameters } from "../../lib/use-parameters";
import { CallRows } from "./CallRows";
import styles from "./CallsPage.module.css";
import { FilterBar } from "./FilterBar";
import { activeFilters, filterOf, NO_FILTERS, tabOf, type Tab } from "./filter";
import { PlaceCallButton } from "./PlaceCall";

const TABS: [Tab, string][] = [
  ["live", "Live"],
  ["all", "All"],
  ["failed", "Failed"],
];

export function Component() {
  const [search, setParameters] = useParameters();
  const tenant = useQuery(tenantQuery);
  const agents = useQuery(agentsQuery);
  const calls = useInfiniteQuery(callListQuery(filterOf(search)));
  const tab = tabOf(search);
  const live = tenant.data?.concurrent_calls.in_use;
  const rows = useMemo(() => calls.data?.pages.flatMap((page) => page.data), [calls.data]);
  const choose = (next: Tab) => setParameters({ show: next === "all" ? null : next });
  return (
    <>
      <PageHeader title="Calls" actions={<PlaceCallButton variant="primary" />} />
      <div className={styles.bar}>
        <div className={styles.tabs} role="group" aria-label="Show">
          {TABS.map(([name, title]) => (
            <button key={name} type="button" aria-pressed={tab === name} onClick={() => choose(name)}>
              {title}
              {name === "live" && live !== undefined && live > 0 && <span className={styles.live}>{live}</span>}
            </button>
          ))}
        </div>
        <FilterBar search={search} onChange={setParameters} agents={agents.data} />
      </div>
      <Card flush>
        {calls.error && !rows ? (
          <ErrorNotice error={calls.error} retry={() => void calls.refetch()} />
        ) : !rows ? (
          <SkeletonRows rows={12} />
        ) : rows.length === 0 ? (
          <NoCalls
            tab={tab}
            filtered={activeFilters(search).length > 0}
            onClear={() => setParameters({ ...NO_FILTERS, show: null })}
          />
        ) : (
          <CallRows
            calls={rows}
            agents={agents.data}
            search={search.toString()}
            hasMore={calls.hasNextPage}
            loadMore={() => !calls.isFetchingNextPage && void calls.fetchNextPage()}
            error={calls.isFetchNextPageError ? calls.error : undefined}
          />
        )}
      </Card>
    </>
  );
}

function NoCalls(props: { tab: Tab; filtered: boolean; onClear: () => void }) {
  if (props.filtered) {
    return (
      <EmptyState action={<Button onClick={props.onClear}>Clear filters</Button>}>
        Nothing matches these filters.
      </EmptyState>
    );
  }
  if (props.tab === "failed") {
    return (
      <EmptyState icon={<PhoneCall />} action={<Button onClick={props.onClear}>All calls</Button>}>
        No failed calls.
      </EmptyState>
    );
  }
  if (props.tab === "live") {
    return (
      <EmptyState icon={<PhoneCall />} action={<PlaceCallButton />}>
        No call is in progress.
      </EmptyState>
    );
  }
  return (
    <EmptyState icon={<PhoneCall />} action={<PlaceCallButton />}>
      No calls yet. Talk to an agent or place one.
    </EmptyState>
  );
}

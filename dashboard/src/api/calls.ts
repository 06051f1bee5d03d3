/** Reading calls: the filtered list, one call and what belongs to it. */
import { infiniteQueryOptions, queryOptions, type InfiniteData, type QueryClient } from "@tanstack/react-query";
import { client, take } from "./client";
import type { FullTranscript } from "./types";
import type { Call, CallDelivery } from "./queries";
import type { components, operations } from "./schema";

export type CallFilter = NonNullable<operations["list_calls"]["parameters"]["query"]>;
export type CallPage = components["schemas"]["CallList"];

const PAGE = 100;
export const LIVE = ["queued", "dialing", "in_progress"] as const;

export function isLive(call: Pick<Call, "status">): boolean {
  return (LIVE as readonly string[]).includes(call.status);
}

function page(filter: CallFilter, signal?: AbortSignal): Promise<CallPage> {
  return take(client.GET("/v1/calls", { params: { query: filter }, signal }));
}

/** The list as it is scrolled: 100 calls a page, newest first. */
export const callListQuery = (filter: CallFilter) =>
  infiniteQueryOptions({
    queryKey: ["calls", "list", filter],
    queryFn: ({ pageParam, signal }) => page({ ...filter, limit: PAGE, cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    // Kept fresh by `renewHead`: reading every loaded page anew would cost hundreds of requests.
    staleTime: Infinity,
    gcTime: 10 * 60_000,
    // Comparing 30,000 rows in depth takes longer than drawing those in sight.
    structuralSharing: false,
  });

/** The few latest, for the overview. */
export const latestCallsQuery = (limit: number) =>
  queryOptions({
    queryKey: ["calls", "latest", limit],
    queryFn: ({ signal }) => page({ limit }, signal).then((answer) => answer.data),
  });

/** Whether there is any call that matches. */
export const anyCallQuery = (filter: CallFilter) =>
  queryOptions({
    queryKey: ["calls", "any", filter],
    queryFn: ({ signal }) => page({ ...filter, limit: 1 }, signal).then((a) => a.data.length > 0),
    staleTime: 30_000,
  });

export const callQuery = (id: string) =>
  queryOptions({
    queryKey: ["calls", id],
    queryFn: ({ signal }) => take(client.GET("/v1/calls/{id}", { params: { path: { id } }, signal })),
  });

export const transcriptQuery = (id: string) =>
  queryOptions({
    queryKey: ["calls", id, "transcript"],
    queryFn: async ({ signal }) => {
      const answer = await take(client.GET("/v1/calls/{id}/transcript", { params: { path: { id } }, signal }));
      return answer as FullTranscript;
    },
  });

/** Why the agent spoke when it did; there is nothing before the call has ended. */
export const decisionsQuery = (id: string) =>
  queryOptions({
    queryKey: ["calls", id, "decisions"],
    queryFn: ({ signal }) =>
      take(client.GET("/v1/calls/{id}/decisions", { params: { path: { id } }, signal })).then((answer) => answer.data),
  });

export const callEventsQuery = (id: string) =>
  queryOptions({
    queryKey: ["calls", id, "events"],
    queryFn: async ({ signal }) => {
      const answer = await take(client.GET("/v1/calls/{id}/events", { params: { path: { id } }, signal }));
      return (answer as components["schemas"]["CallEvents"]).data;
    },
  });

/** Every delivery of the call's events, with its attempts. */
export const callDeliveriesQuery = (id: string) =>
  queryOptions({
    queryKey: ["calls", id, "deliveries"],
    queryFn: ({ signal }): Promise<CallDelivery[]> =>
      take(
        client.GET("/v1/calls/{id}/deliveries", {
          params: { path: { id }, query: { limit: PAGE } },
          signal,
        }),
      ).then((answer) => answer.data),
  });

type Loaded = InfiniteData<CallPage>;

/**
 * Renews a loaded list in place: its first page, and the rows of `touched` calls that
 * stand further down. Everything else stays as it is, so nothing moves under the reader.
 */
export async function renewHead(queries: QueryClient, filter: CallFilter, touched: ReadonlySet<string>): Promise<void> {
  const key = callListQuery(filter).queryKey;
  const before = queries.getQueryData(key);
  if (before === undefined) return;
  const head = await page({ ...filter, limit: PAGE });
  const fresh = new Map(head.data.map((call) => [call.id, call]));
  const below = before.pages
    .flatMap((each) => each.data)
    .filter((call) => !fresh.has(call.id) && (touched.has(call.id) || isLive(call)))
    .slice(0, 20);
  const rest = await Promise.allSettled(
    below.map(({ id }) => take(client.GET("/v1/calls/{id}", { params: { path: { id } } }))),
  );
  for (const answer of rest) {
    if (answer.status === "fulfilled") fresh.set(answer.value.id, answer.value);
  }
  queries.setQueryData(key, (now: Loaded | undefined) => now && merged(now, head, fresh, filter));
}

/** `now` with the rows of `fresh`, with those of `head` that are new, and none that left. */
export function merged(now: Loaded, head: CallPage, fresh: ReadonlyMap<string, Call>, filter: CallFilter): Loaded {
  const known = new Set(now.pages.flatMap((each) => each.data.map((call) => call.id)));
  const oldest = head.has_more ? head.data[head.data.length - 1]?.id : "";
  const inHead = new Set(head.data.map((call) => call.id));
  // Ids are in the order of creation: what is newer than the head's last row and not in it has left.
  const stays = (call: Call) =>
    inHead.has(call.id) || (oldest !== undefined && call.id < oldest && matches(call, filter));
  const arrived = head.data.filter((call) => !known.has(call.id));
  const pages = now.pages.map((each, index) => {
    const rows = each.data.map((call) => fresh.get(call.id) ?? call).filter(stays);
    return { ...each, data: index === 0 ? [...arrived, ...rows].sort(newestFirst) : rows };
  });
  return { ...now, pages };
}

function newestFirst(a: Call, b: Call): number {
  return a.id < b.id ? 1 : -1;
}

function matches(call: Call, filter: CallFilter): boolean {
  return filter.status === undefined || filter.status.includes(call.status);
}

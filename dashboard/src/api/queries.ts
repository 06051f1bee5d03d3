/**
 * What the pages read. One `queryOptions` per thing, its key first by collection and
 * then by id, so that `invalidateQueries({ queryKey: ["agents"] })` renews the list
 * and every single agent. Pages use them with `useQuery(agentsQuery)`.
 */
import { queryOptions } from "@tanstack/react-query";
import { client, take } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Agent = Schemas["Agent"];
export type AttentionItem = Schemas["AttentionItem"];
export type Call = Schemas["Call"];
export type CallDelivery = Schemas["CallDelivery"];
export type CallEvent = Schemas["CallEvent"];
export type Connection = Schemas["Connection"];
export type Delivery = Schemas["WebhookDelivery"];
export type PhoneNumber = Schemas["PhoneNumber"];
export type Statistics = Schemas["Statistics"];
export type Tenant = Schemas["Tenant"];
export type Usage = Schemas["Usage"];
export type Person = Schemas["Person"];
export type Voice = Schemas["Voice"];
export type Webhook = Schemas["Webhook"];

const PAGE = 100;
/** Lists are read again when they are entered or the window is focused, and while they stand: programs change them, too. */
const FRESH = { staleTime: 0, refetchInterval: 10_000 } as const;
type Page<T> = { data: T[]; has_more: boolean; next_cursor: string | null };

/** Every row of a collection that is small by nature (agents, numbers, webhooks). */
export async function everyRow<T>(page: (cursor?: string) => Promise<Page<T>>): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | undefined;
  do {
    const answer = await page(cursor);
    rows.push(...answer.data);
    cursor = answer.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}

export const tenantQuery = queryOptions({
  queryKey: ["tenant"],
  queryFn: ({ signal }) => take(client.GET("/v1/tenant", { signal })),
  refetchInterval: 10_000,
});

export const agentsQuery = queryOptions({
  ...FRESH,
  queryKey: ["agents"],
  queryFn: ({ signal }) =>
    everyRow((cursor) => take(client.GET("/v1/agents", { params: { query: { limit: PAGE, cursor } }, signal }))),
});

export const agentQuery = (id: string) =>
  queryOptions({
    queryKey: ["agents", id],
    queryFn: ({ signal }) => take(client.GET("/v1/agents/{id}", { params: { path: { id } }, signal })),
  });

export const numbersQuery = queryOptions({
  ...FRESH,
  queryKey: ["numbers"],
  queryFn: ({ signal }) =>
    everyRow((cursor) => take(client.GET("/v1/numbers", { params: { query: { limit: PAGE, cursor } }, signal }))),
});

export const connectionsQuery = queryOptions({
  ...FRESH,
  queryKey: ["connections"],
  queryFn: ({ signal }) =>
    everyRow((cursor) => take(client.GET("/v1/connections", { params: { query: { limit: PAGE, cursor } }, signal }))),
});

export const webhooksQuery = queryOptions({
  ...FRESH,
  queryKey: ["webhooks"],
  queryFn: ({ signal }) =>
    everyRow((cursor) => take(client.GET("/v1/webhooks", { params: { query: { limit: PAGE, cursor } }, signal }))),
});

export const apiKeysQuery = queryOptions({
  ...FRESH,
  queryKey: ["api-keys"],
  queryFn: ({ signal }) =>
    everyRow((cursor) => take(client.GET("/v1/api-keys", { params: { query: { limit: PAGE, cursor } }, signal }))),
});

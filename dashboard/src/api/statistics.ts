/** Figures for the overview and what needs attention. */
import { queryOptions } from "@tanstack/react-query";
import { query, request } from "./client";
import type { AttentionItem, List, Statistics } from "./pending";

type Range = { interval: "hour" | "day"; after?: string; before?: string; agent_id?: string };

/** `key` names the range where its ends move with the clock ("today"). */
export const statisticsQuery = (key: string, range: () => Range) =>
  queryOptions({
    queryKey: ["statistics", key],
    queryFn: ({ signal }) =>
      request<Statistics>("GET", `/v1/statistics${query(range())}`, undefined, signal),
    refetchInterval: 60_000,
  });

export const attentionQuery = queryOptions({
  queryKey: ["attention"],
  queryFn: ({ signal }) =>
    request<Pick<List<AttentionItem>, "data">>("GET", "/v1/attention", undefined, signal).then(
      (answer) => answer.data,
    ),
  refetchInterval: 60_000,
});

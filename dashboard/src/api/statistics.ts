/** Figures for the overview and what needs attention. */
import { queryOptions } from "@tanstack/react-query";
import { client, take } from "./client";
import type { operations } from "./schema";

type Range = NonNullable<operations["show_statistics"]["parameters"]["query"]>;

/** `key` names the range where its ends move with the clock ("today"). */
export const statisticsQuery = (key: string, range: () => Range) =>
  queryOptions({
    queryKey: ["statistics", key],
    queryFn: ({ signal }) => take(client.GET("/v1/statistics", { params: { query: range() }, signal })),
    refetchInterval: 60_000,
  });

export const attentionQuery = queryOptions({
  queryKey: ["attention"],
  queryFn: ({ signal }) => take(client.GET("/v1/attention", { signal })).then((answer) => answer.data),
  refetchInterval: 60_000,
});

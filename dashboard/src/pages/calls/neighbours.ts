import { useQueryClient } from "@tanstack/react-query";
import { useLocation } from "react-router";
import { callListQuery } from "../../api/calls";
import { filterOf } from "./filter";

/** The calls beside this one in the list it was opened from, and that list's address. */
export function useNeighbours(id: string): { list: string; newer?: string; older?: string } {
  const queries = useQueryClient();
  const { state } = useLocation();
  const list = (state as { list?: string } | null)?.list;
  if (list === undefined) return { list: "" };
  const filter = filterOf(new URLSearchParams(list));
  const loaded = queries.getQueryData(callListQuery(filter).queryKey);
  const ids = loaded?.pages.flatMap((page) => page.data.map((call) => call.id)) ?? [];
  const at = ids.indexOf(id);
  if (at < 0) return { list };
  return { list, newer: ids[at - 1], older: ids[at + 1] };
}

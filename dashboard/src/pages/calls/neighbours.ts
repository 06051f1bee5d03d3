import { useQueryClient } from "@tanstack/react-query";
import { useLocation, useNavigate } from "react-router";
import { callListQuery } from "../../api/calls";
import { filterOf } from "./filter";

export interface Neighbours {
  /** The address of the list that the call was opened from, without its path. */
  list: string;
  openNewer?: () => void;
  openOlder?: () => void;
}

/** The calls beside this one in the list it was opened from. */
export function useNeighbours(id: string): Neighbours {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { state } = useLocation();
  const list = (state as { list?: string } | null)?.list;
  if (list === undefined) return { list: "" };
  const filter = filterOf(new URLSearchParams(list));
  const loaded = queries.getQueryData(callListQuery(filter).queryKey);
  const ids = loaded?.pages.flatMap((page) => page.data.map((call) => call.id)) ?? [];
  const at = ids.indexOf(id);
  const opener = (other: string | undefined) =>
    other === undefined ? undefined : () => void navigate(`/calls/${other}`, { state: { list } });
  return at < 0 ? { list } : { list, openNewer: opener(ids[at - 1]), openOlder: opener(ids[at + 1]) };
}

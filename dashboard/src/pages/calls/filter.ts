/** The list's filter as it stands in the address, and as the API takes it. Pure. */
import { LIVE, type CallFilter } from "../../api/calls";
import type { Parameters } from "../../lib/use-parameters";

/** What can be filtered by, beside the status; each is a search parameter of its name. */
export const FILTERS = [
  "agent_id",
  "direction",
  "number_id",
  "to",
  "from",
  "end_reason",
  "error_code",
  "created_after",
  "created_before",
] as const;
export type FilterName = (typeof FILTERS)[number];
export type Tab = "live" | "all" | "failed";

export function tabOf(search: URLSearchParams): Tab {
  const show = search.get("show");
  return show === "live" || show === "failed" ? show : "all";
}

/** The API's query of an address. */
export function filterOf(search: URLSearchParams): CallFilter {
  const filter: Record<string, unknown> = {};
  for (const name of FILTERS) {
    const value = search.get(name);
    if (!value) continue;
    if (name === "created_after") filter[name] = dayStart(value, 0);
    else if (name === "created_before") filter[name] = dayStart(value, 1);
    else filter[name] = [value];
  }
  const tab = tabOf(search);
  if (tab === "live") filter.status = [...LIVE];
  if (tab === "failed") filter.status = ["failed"];
  return filter as CallFilter;
}

/** The start of the day `date` ("2026-11-22"), or of one `later`, here, as the API takes it. */
function dayStart(date: string, later: number): string | undefined {
  const [year, month, day] = date.split("-").map(Number);
  if (!year || !month || !day) return undefined;
  return new Date(year, month - 1, day + later).toISOString();
}

/** The changes to the address that remove all filters. */
export const NO_FILTERS: Parameters = Object.fromEntries(FILTERS.map((name) => [name, null]));

export function activeFilters(search: URLSearchParams): [FilterName, string][] {
  return FILTERS.flatMap((name) => {
    const value = search.get(name);
    return value ? [[name, value] as [FilterName, string]] : [];
  });
}

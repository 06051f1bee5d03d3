import { expect, test } from "vitest";
import { merged, type CallPage } from "./calls";
import type { Call } from "./queries";

const call = (id: string, status = "completed") => ({ id, status }) as Call;
const page = (calls: Call[], more = true) =>
  ({ data: calls, has_more: more, next_cursor: more ? (calls.at(-1)?.id ?? null) : null }) as CallPage;
const loaded = (...pages: CallPage[]) => ({ pages, pageParams: pages.map(() => undefined) });
const fresh = (...calls: Call[]) => new Map(calls.map((one) => [one.id, one]));
const shown = (list: ReturnType<typeof merged>) =>
  list.pages.map((each) => each.data.map((one) => `${one.id} ${one.status}`));

test("a new call stands on top, a changed one changes in its place", () => {
  const now = loaded(page([call("8"), call("7", "dialing")]), page([call("4", "in_progress")]));
  const head = page([call("9", "queued"), call("8"), call("7")]);
  const renewed = merged(now, head, fresh(...head.data, call("4")), {});
  expect(shown(renewed)).toEqual([["9 queued", "8 completed", "7 completed"], ["4 completed"]]);
});

test("a call that ended leaves the list of live ones, on any page", () => {
  const filter = { status: ["queued", "dialing", "in_progress"] } as const;
  const live = (id: string) => call(id, "in_progress");
  const now = loaded(page([live("9"), live("8")]), page([live("3")]));
  const head = page([live("9"), live("7")]);
  const renewed = merged(now, head, fresh(...head.data, call("3")), { status: [...filter.status] });
  // 8 is newer than the last of the head and not in it; 7 came; 3 has ended.
  expect(shown(renewed)).toEqual([["9 in_progress", "7 in_progress"], []]);
});

test("an emptied list is empty", () => {
  const now = loaded(page([call("2", "queued")], false));
  expect(shown(merged(now, page([], false), fresh(), {}))).toEqual([[]]);
});

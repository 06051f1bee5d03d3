/** Weight: what is served and what stands in the page is counted. Times are printed: they are the machine's as much as the page's. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { expect, settled, test } from "./look";

const DIST = "dist";
const FIRST_ROUTE = 200_000;
const ALL = 300_000;
/** Files before the first route stands there: each is a request, and the browser sends few at a time. */
const FIRST_FILES = 30;
/** Read only where their letters stand on the page. */
const ON_DEMAND = /-(cyrillic|cyrillic-ext|latin-ext|vietnamese|symbols2)-/;
/** Not the page's: another site's scripts, texts for people. */
const OTHERS = /^(embed|licences)/;

function weight(file: string): number {
  const bytes = readFileSync(join(DIST, file));
  return file.endsWith(".woff2") ? bytes.length : brotliCompressSync(bytes).length;
}

test("the first route weighs at most 200 kB in 30 files, the whole page at most 300 kB", async ({ page }) => {
  const loaded = new Set<string>();
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (/\.(js|css|woff2)$/.test(pathname)) loaded.add(pathname.slice(1));
  });
  await page.goto("/");
  await settled(page);
  const first = ["index.html", ...loaded].reduce((sum, file) => sum + weight(file), 0);
  const all = readdirSync(DIST, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(html|js|css|woff2|svg)$/.test(file))
    .filter((file) => !ON_DEMAND.test(file) && !OTHERS.test(file))
    .reduce((sum, file) => sum + weight(file), 0);
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  console.log(
    `first route ${first} bytes in ${loaded.size} files, all ${all} bytes, first contentful paint ${Math.round(paint ?? 0)} ms`,
  );
  expect(first).toBeLessThanOrEqual(FIRST_ROUTE);
  expect(loaded.size).toBeLessThanOrEqual(FIRST_FILES);
  expect(all).toBeLessThanOrEqual(ALL);
});

const CALLS = 5_000;

test("5,000 calls scroll with few rows in the page", async ({ page, service, conversation }) => {
  test.setTimeout(300_000);
  // The list as the API gives it, page by page; the rows are copies of a real call. It is made in the page, so that what is
  // measured is the page and not the way of 5 MB through the test.
  const call = await service.get<Record<string, unknown>>(`/v1/calls/${conversation}`);
  await page.addInitScript(
    ({ call, calls }) => {
      const service = window.fetch;
      const id = (at: number) => `0198c69a-0000-7000-8000-${String(calls - at).padStart(12, "0")}`;
      window.fetch = (input, init) => {
        const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input, window.location.href);
        if (pathname !== "/v1/calls") return service(input, init);
        const cursor = searchParams.get("cursor");
        const from = cursor === null ? 0 : calls - Number(cursor.slice(-12)) + 1;
        const count = Math.min(Number(searchParams.get("limit") ?? 20), calls - from);
        const data = Array.from({ length: count }, (_, at) => ({ ...call, id: id(from + at) }));
        const has_more = from + count < calls;
        return Promise.resolve(Response.json({ data, has_more, next_cursor: has_more ? data[count - 1]?.id : null }));
      };
    },
    { call, calls: CALLS },
  );
  await page.goto("/calls");
  await settled(page);
  // Everything is loaded by scrolling to the end of what is there, again and again.
  await page.evaluate(async (rows) => {
    const all = () => document.querySelector("[role=table]")!.clientHeight / 42;
    while (all() < rows) {
      window.scrollTo(0, document.documentElement.scrollHeight);
      await new Promise(requestAnimationFrame);
    }
  }, CALLS);

  const { frames, rows } = await page.evaluate(async () => {
    const frames: number[] = [];
    let rows = 0;
    const height = document.documentElement.scrollHeight;
    let last = performance.now();
    for (let at = 0; at < 120; at += 1) {
      window.scrollTo(0, (height * ((at * 37) % 120)) / 120 + at * 9);
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      frames.push(now - last);
      last = now;
      rows = Math.max(rows, document.querySelectorAll("[role=table] [role=row]").length);
    }
    return { frames: frames.sort((a, b) => a - b), rows };
  });
  const p95 = frames[Math.floor(frames.length * 0.95)] ?? Infinity;
  console.log(`95 of 100 frames within ${p95.toFixed(1)} ms, at most ${rows} rows in the page`);
  expect(rows).toBeGreaterThan(10);
  expect(rows).toBeLessThan(80);
});

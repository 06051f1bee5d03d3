/** The button on somebody else's page: its script comes from the service, its token from the page's own server. */
import { FakeWebCall } from "./fake-web-call";
import { expect, test } from "./look";
import { withMicrophone } from "./microphone";
import { BASE } from "./service";

test.use(withMicrophone("tone"));

/** A page of another site. It must be secure for the microphone, which localhost is. */
const SITE = "http://localhost:4599";
const POLICY = `default-src 'none'; script-src ${BASE} blob:; worker-src blob:; connect-src 'self' ${BASE.replace("http", "ws")}`;

test("a page of another site talks with a token that its server made", async ({ page, refused }) => {
  const call = await FakeWebCall.install(page);
  const socket = `${BASE.replace("http", "ws")}/media/web/token-1`;
  let asked = 0;
  await page.route(`${SITE}/**`, (route) => {
    if (route.request().method() === "POST") {
      asked += 1;
      return route.fulfill({ json: { url: socket } });
    }
    return route.fulfill({
      contentType: "text/html",
      headers: { "content-security-policy": POLICY },
      body: `<!doctype html><html lang="en"><title>A shop</title><main><h1>A shop</h1></main>
        <script src="${BASE}/embed.js" data-token-url="/voice-token" data-label="Ask us" data-agent="Ava"></script>`,
    });
  });
  await page.goto(`${SITE}/`);
  await page.getByRole("button", { name: "Ask us" }).click();
  await expect.poll(() => call.frames.length).toBeGreaterThan(10);
  expect(asked).toBe(1);
  call.state("speaking", "resume-1");
  call.says("agent", "Hello from Ava.");
  await expect(page.getByRole("log")).toContainText("Hello from Ava.");
  await call.speak(200);
  call.send({ type: "mark", name: "played" });
  await expect.poll(() => call.ofType("mark")).toHaveLength(1);
  await page.getByRole("button", { name: "End call" }).click();
  await expect(page.getByText("You ended the call.")).toBeVisible();
  expect(call.texts.at(-1)).toEqual({ type: "hangup" });
  // The script itself is a request to another host, as on every page that embeds it.
  refused.splice(0, refused.length, ...refused.filter((what) => !what.startsWith("a request to ")));
});

test("a token in the page is good for one call, and the button goes with it", async ({ page, refused }) => {
  const call = await FakeWebCall.install(page);
  await page.route(`${SITE}/**`, (route) =>
    route.fulfill({
      contentType: "text/html",
      body: `<!doctype html><html lang="en"><title>A shop</title><div id="here"></div>
        <script src="${BASE}/embed.js" data-token="token-1" data-target="#here" async></script>`,
    }),
  );
  await page.goto(`${SITE}/`);
  await page.locator("#here").getByRole("button", { name: "Talk to us" }).click();
  await expect.poll(() => call.sockets).toBe(1);
  call.state("listening", "resume-1");
  await expect(page.getByRole("button", { name: "Mute" })).toBeVisible();
  call.send({ type: "end", end_reason: "agent_hangup" });
  await expect(page.getByText("The agent hung up.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Talk to us" })).toHaveCount(0);
  refused.splice(0, refused.length, ...refused.filter((what) => !what.startsWith("a request to ")));
});

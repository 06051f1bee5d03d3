/** The button on somebody else's page: its script comes from the service, its token from the page's own server. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ANSWER_MS } from "./caller";
import { test as base, expect } from "./look";
import { BASE } from "./service";
import { GREETING, TALK_MS } from "./talk";
import { WebCall } from "./web-call";

const SOCKETS = BASE.replace("http", "ws");
const POLICY = `default-src 'none'; script-src ${BASE} blob:; worker-src blob:; connect-src 'self' ${SOCKETS}; img-src data:`;

/** What the page's server asks the service for. */
const asked = (agent_id: string) => ({ agent_id, to: "web", overrides: { greeting: GREETING } });

type WebCallResource = { id: string; web: { url: string } };

/** Another site. Its page must be secure for the microphone, which localhost is. */
class Shop {
  /** What its page has in its body. */
  body = "";
  /** Asks the service for a call, as its server does for each press of the button. */
  place: () => Promise<unknown> = async () => ({});
  asked = 0;
  private readonly server: Server;

  constructor() {
    this.server = createServer(async (request, answer) => {
      if (request.method === "POST") {
        this.asked += 1;
        answer.setHeader("content-type", "application/json").end(JSON.stringify(await this.place()));
        return;
      }
      answer.setHeader("content-type", "text/html").setHeader("content-security-policy", POLICY);
      answer.end(
        `<!doctype html><html lang="en"><title>A shop</title><link rel="icon" href="data:,"><h1>A shop</h1>${this.body}`,
      );
    });
  }

  async start(): Promise<void> {
    this.server.listen(0, "localhost");
    await once(this.server, "listening");
  }

  get address(): string {
    return `http://localhost:${(this.server.address() as AddressInfo).port}/`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

const test = base.extend<{ shop: Shop }>({
  shop: async ({}, use) => {
    const shop = new Shop();
    await shop.start();
    await use(shop);
    shop.stop();
  },
});

test.describe.configure({ timeout: TALK_MS });

test("a page of another site talks with a token that its server made", async ({
  page,
  caller,
  shop,
  seed,
  service,
}) => {
  shop.place = () => service.post("/v1/calls", asked(seed.agent));
  shop.body = `<script src="${BASE}/embed.js" data-token-url="/voice-token" data-label="Ask us" data-agent="Ava"></script>`;
  const call = WebCall.of(page);
  await page.goto(shop.address);
  await page.getByRole("button", { name: "Ask us" }).click();
  await caller.answers(GREETING, "name");
  await expect(page.getByRole("log")).toContainText("Thank you, Sarah Miller", { timeout: ANSWER_MS });
  expect(shop.asked).toBe(1);
  expect(call.sentOf("mark").length).toBeGreaterThan(0);
  await page.getByRole("button", { name: "End call" }).click();
  await expect(page.getByText("You ended the call.")).toBeVisible();
});

test("a token in the page is good for one call, and the button goes with it", async ({ page, shop, seed, service }) => {
  const { id, web } = await service.post<WebCallResource>("/v1/calls", asked(seed.agent));
  const token = web.url.split("/").at(-1);
  shop.body = `<div id="here"></div><script src="${BASE}/embed.js" data-token="${token}" data-target="#here" async></script>`;
  await page.goto(shop.address);
  await page.locator("#here").getByRole("button", { name: "Talk to us" }).click();
  await service.answered(id);
  await service.post(`/v1/calls/${id}/hangup`, {});
  await expect(page.getByText("The call was ended through the API.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Talk to us" })).toHaveCount(0);

  // Whoever comes with the same token is refused.
  await page.reload();
  await page.locator("#here").getByRole("button", { name: "Talk to us" }).click();
  await expect(page.getByText(/expired or was used|did not connect/)).toBeVisible();
});

/** A connection that fails in the middle of a conversation, and who may open its socket. */
import { callerSays } from "./caller";
import { test as base, expect, settled } from "./look";
import { Network } from "./network";
import { statusOfSocket } from "./service";
import { WebCall } from "./web-call";

const test = base.extend<{ network: Network }>({
  network: async ({}, use) => {
    const network = await Network.start();
    await use(network);
    network.stop();
  },
  proxy: async ({ network }, use) => use({ server: network.address }),
});

test("a lost socket is resumed within five seconds, and its token is good once", async ({ page, network, seed }) => {
  callerSays({ afterSeconds: 4, line: "name" }, { afterSeconds: 14, line: "day" });
  const call = WebCall.of(page);
  await page.goto(`/agents/${seed.agent}`);
  await settled(page);
  await page.getByLabel("Greeting text").fill("Your name, please?");
  await page.getByRole("button", { name: "Talk", exact: true }).click();
  const log = page.getByRole("log", { name: "Transcript" });
  await expect(log).toContainText("Which day", { timeout: 30_000 });
  const address = call.sockets[0] ?? "";
  expect(await statusOfSocket(address), "while the browser has the call").toEqual([409, "token_used"]);

  network.fail();
  await expect(page.getByText("Reconnecting", { exact: true })).toBeVisible();
  await expect(page.getByText(/Connection lost\. \d s left/)).toBeVisible();
  network.recover();
  await expect(page.getByText("Live", { exact: true })).toBeVisible({ timeout: 5_000 });
  await expect(log).toContainText("Which day");
  const [first, second] = call.resumeTokens();
  expect(second).not.toBe(first);
  expect(call.sentOf("resume")).toEqual([{ type: "resume", token: first }]);
  expect(new Set(call.sockets)).toEqual(new Set([address]));

  // The conversation goes on where it was.
  await expect(log).toContainText(/Friday/, { timeout: 30_000 });
  await expect(log).toContainText("at what time", { timeout: 20_000 });

  // It is lost again; this time the page comes back with the newer token.
  network.fail();
  await expect(page.getByText("Reconnecting", { exact: true })).toBeVisible();
  network.recover();
  await expect(page.getByText("Live", { exact: true })).toBeVisible({ timeout: 5_000 });
  expect(call.sentOf("resume").map(({ token }) => token)).toEqual([first, second]);
  await page.getByRole("button", { name: "End call" }).click();
  await expect(page.getByText("You ended the call.")).toBeVisible();
  expect(await statusOfSocket(address), "after the call").toEqual([409, "token_used"]);
});

test("a connection that does not come back ends the call, and the panel says so", async ({ page, network, seed, service }) => {
  callerSays();
  await page.goto(`/agents/${seed.agent}`);
  await settled(page);
  await page.getByRole("button", { name: "Talk", exact: true }).click();
  await expect(page.getByText("Live", { exact: true })).toBeVisible({ timeout: 20_000 });
  network.fail();
  await expect(page.getByText("The connection was lost.")).toBeVisible();
  network.recover();
  await expect(page.getByRole("button", { name: "Talk again" })).toBeVisible();
  const id = (await page.getByRole("link", { name: "Open call" }).getAttribute("href"))?.split("/").at(-1) ?? "";
  await service.ended(id);
  expect((await service.get<{ end_reason: string }>(`/v1/calls/${id}`)).end_reason).toBe("caller_hangup");
});

/** A connection or a microphone that fails in the middle of a conversation, and who may open its socket. */
import { ANSWER_MS } from "./caller";
import { test as base, expect } from "./look";
import { Network } from "./network";
import { statusOfSocket } from "./service";
import { endCall, ended, GREETING, openedCall, talk, TALK_MS } from "./talk";

const test = base.extend<{ network: Network }>({
  network: async ({}, use) => {
    const network = await Network.start();
    await use(network);
    network.stop();
  },
  proxy: async ({ network }, use) => use({ server: network.address }),
});

test.describe.configure({ timeout: TALK_MS });

test("a lost socket is resumed within five seconds, and its token is good once", async ({
  page,
  caller,
  network,
  seed,
}) => {
  const call = await talk(page, seed.agent);
  const log = page.getByRole("log", { name: "Transcript" });
  await caller.answers(GREETING, "name");
  await expect(log).toContainText("Which day", { timeout: ANSWER_MS });
  const address = call.sockets[0] ?? "";
  expect(await statusOfSocket(address), "while the browser has the call").toEqual([409, "token_used"]);

  network.fail();
  await Promise.all([
    expect(page.getByText("Reconnecting", { exact: true })).toBeVisible(),
    expect(page.getByText(/Connection lost\. \d s left/)).toBeVisible(),
  ]);
  network.recover();
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await expect(log).toContainText("Which day");
  const [first, second] = call.resumeTokens();
  expect(second).not.toBe(first);
  expect(call.sentOf("resume")).toEqual([{ type: "resume", token: first }]);
  expect(new Set(call.sockets)).toEqual(new Set([address]));

  // The conversation goes on where it was.
  await caller.says("day");
  await expect(log).toContainText("Friday, gladly. And at what time?", { timeout: ANSWER_MS });

  // It is lost again; this time the page comes back with the newer token.
  network.fail();
  await expect(page.getByText("Reconnecting", { exact: true })).toBeVisible();
  network.recover();
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  expect(call.sentOf("resume").map(({ token }) => token)).toEqual([first, second]);
  await endCall(page);
  expect(await statusOfSocket(address), "after the call").toEqual([409, "token_used"]);
});

test("a connection that does not come back ends the call, and the panel says so", async ({
  page,
  network,
  seed,
  service,
}) => {
  await talk(page, seed.agent);
  network.fail();
  // After five seconds without a socket.
  await expect(page.getByText("The connection was lost.")).toBeVisible({ timeout: 20_000 });
  network.recover();
  await expect(page.getByRole("button", { name: "Talk again" })).toBeVisible();
  expect((await ended(service, await openedCall(page))).end_reason).toBe("caller_hangup");
});

/** What the test does with the page's microphones. */
declare global {
  interface Window {
    unplug: () => void;
    plugIn: () => void;
  }
}

/** Lets the test unplug the microphone, so that there is none until it is plugged in again. */
function pluggable(): void {
  const devices = navigator.mediaDevices;
  const ask = devices.getUserMedia.bind(devices);
  const tracks: MediaStreamTrack[] = [];
  let isPluggedIn = true;
  devices.getUserMedia = async (constraints) => {
    if (!isPluggedIn) throw new DOMException("Requested device not found", "NotFoundError");
    const stream = await ask(constraints);
    tracks.push(...stream.getTracks());
    return stream;
  };
  window.unplug = () => {
    isPluggedIn = false;
    for (const track of tracks.splice(0)) {
      track.stop();
      track.dispatchEvent(new Event("ended"));
    }
  };
  window.plugIn = () => {
    isPluggedIn = true;
    devices.dispatchEvent(new Event("devicechange"));
  };
}

test("an unplugged microphone keeps the call, and the next one is used", async ({ page, caller, seed }) => {
  await page.addInitScript(pluggable);
  const call = await talk(page, seed.agent);
  const log = page.getByRole("log", { name: "Transcript" });
  await caller.answers(GREETING, "name");
  await expect(log).toContainText("Which day", { timeout: ANSWER_MS });

  await page.evaluate(() => window.unplug());
  const button = page.getByRole("button", { name: "No microphone" });
  await expect(button).toBeEnabled();
  await expect(page.getByText("No microphone: the agent does not hear you.")).toBeVisible();
  await button.click();
  await expect(button, "there is none yet").toBeEnabled();

  await page.evaluate(() => window.plugIn());
  await expect(page.getByRole("button", { name: "Mute" })).toBeVisible();
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await caller.says("day");
  await expect(log).toContainText("Friday, gladly. And at what time?", { timeout: ANSWER_MS });
  expect(call.sockets.length, "on the same socket").toBe(1);
  await endCall(page);
});

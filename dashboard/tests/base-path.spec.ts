/** The dashboard behind a proxy that serves it below a path, and takes the path away before it asks the service. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync } from "node:fs";
import { createServer, request, type IncomingMessage, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { expect, settled, test } from "./look";
import { signIn } from "./sign-in";

const PATH = "/voice";

/** Forwards what is below the path, as nginx does with `location /voice/ { proxy_pass http://service/; }`; all else is 404. */
function proxy(service: number): Server {
  const inside = (asked: IncomingMessage) =>
    asked.url?.startsWith(`${PATH}/`) ? asked.url.slice(PATH.length) : undefined;
  const server = createServer((asked, answer) => {
    const path = inside(asked);
    if (path === undefined) {
      answer.writeHead(404).end();
      return;
    }
    const options = { host: "127.0.0.1", port: service, method: asked.method, path, headers: asked.headers };
    const forwarded = request(options, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.rawHeaders);
      answered.pipe(answer);
    });
    forwarded.on("error", () => answer.destroy());
    answer.on("close", () => forwarded.destroy());
    asked.pipe(forwarded);
  });
  server.on("upgrade", (asked, client) => {
    const upstream = connect(service, "127.0.0.1", () => {
      const headers = asked.rawHeaders.map((text, at) => text + (at % 2 === 0 ? ": " : "\r\n")).join("");
      upstream.write(`${asked.method} ${inside(asked)} HTTP/1.1\r\n${headers}\r\n`);
      upstream.pipe(client).pipe(upstream);
    });
    for (const end of [upstream, client]) end.on("error", () => [upstream, client].forEach((each) => each.destroy()));
  });
  return server;
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

let root: string;
let folder: string;
let service: ChildProcess;
let outside: Server;

test.use({ storageState: { cookies: [], origins: [] } });

test.beforeAll(async () => {
  const [binary, log] = [process.env.SWITCHHOOK_BINARY, process.env.SWITCHHOOK_DEV_LOG];
  if (!binary || !log) throw new Error("start tests/run.sh, which says where the service is");
  folder = mkdtempSync(join(dirname(log), "base-path-"));
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  const models = join(dirname(log), "data", "models");
  if (existsSync(models)) symlinkSync(models, join(data, "models"));
  const port = await freePort();
  outside = proxy(port);
  root = `http://127.0.0.1:${await listening(outside)}${PATH}`;
  const output = openSync(join(folder, "log"), "w");
  service = spawn(binary, ["dev", "--listen", `127.0.0.1:${port}`, "--data-dir", data], {
    env: { ...process.env, SWITCHHOOK_PUBLIC_URL: root },
    stdio: ["ignore", output, output],
  });
  await expect(async () => {
    expect((await fetch(`${root}/readyz`)).status).toBe(200);
  }).toPass({ timeout: 60_000 });
});

test.afterAll(async () => {
  // What still runs may write to the folder while it is deleted.
  if (service.exitCode === null && service.signalCode === null) {
    const exit = once(service, "exit");
    service.kill("SIGKILL");
    await exit;
  }
  outside.close();
  outside.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

test("pages, requests, streams and links stay below the path", async ({ page }) => {
  await page.goto(`${root}/calls?show=failed`);
  await signIn(page, join(folder, "log"));
  await expect(page).toHaveURL(`${root}/calls?show=failed`);
  await page.getByRole("link", { name: "Overview" }).click();
  await settled(page);
  await expect(page).toHaveURL(`${root}/`);

  await page.getByRole("button", { name: "Place call" }).first().click();
  await page.getByLabel("To", { exact: true }).fill("+12025550100");
  await page.getByRole("dialog").getByRole("button", { name: "Place call" }).click();
  await expect(page).toHaveURL(new RegExp(`^${root}/calls/[0-9a-f-]{36}$`));
  // The stream of events shows the answer, the stream of the transcript the first sentence.
  await expect(page.getByRole("button", { name: "Hang up" })).toBeVisible();
  await expect(
    page
      .getByLabel("Transcript")
      .getByText(/demo|table/i)
      .first(),
  ).toBeVisible({ timeout: 30_000 });
  await page.getByRole("button", { name: "Listen" }).click();
  await expect(page.getByRole("button", { name: /Stop listening/ })).toBeVisible();
  // A reload would break off a request that has no answer yet.
  const hungUp = page.waitForResponse((response) => response.url().endsWith("/hangup"));
  await page.getByRole("button", { name: "Hang up" }).click();
  await hungUp;
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByRole("button", { name: "Hang up" })).toHaveCount(0, { timeout: 20_000 });

  await page.goto(`${root}/docs`);
  await expect(page.getByRole("link", { name: "Place a call" }).first()).toBeVisible();
  const document = (await (await page.request.get(`${root}/openapi.json`)).json()) as { servers: { url: string }[] };
  expect(document.servers[0]?.url).toBe(PATH);

  await page.goto(`${root}/agents`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("button", { name: "Sign in" })).toBeVisible();
  await expect(page.getByRole("link", { name: "API reference" })).toHaveAttribute("href", `${PATH}/docs`);
});

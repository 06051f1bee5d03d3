// run.mjs BINARY: the whole sign-in in a browser. Exits with 0 when every step did what it should.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { freePort } from './ports.mjs';
import { CLIENT_ID, CLIENT_SECRET, startProvider } from './provider.mjs';

const [binary] = process.argv.slice(2);
const executablePath = process.env.SWITCHHOOK_CHROMIUM ?? '/usr/bin/chromium';
// A page of the service whose policy lets it send requests, with or without a built dashboard.
const PAGE = '/docs';

async function startService(folder, issuer, port) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SWITCHHOOK_')));
  const settings = {
    SWITCHHOOK_DATA_DIR: join(folder, 'data'),
    SWITCHHOOK_LISTEN: `127.0.0.1:${port}`,
    SWITCHHOOK_LOG: 'warn',
    SWITCHHOOK_OIDC_ISSUER: issuer,
    SWITCHHOOK_OIDC_CLIENT_ID: CLIENT_ID,
    SWITCHHOOK_OIDC_CLIENT_SECRET: CLIENT_SECRET,
    SWITCHHOOK_OIDC_ALLOW: '@example.com',
  };
  const service = spawn(binary, ['serve'], { env: { ...env, ...settings }, stdio: ['ignore', 'pipe', 'inherit'] });
  await Promise.race([
    once(service.stdout, 'data'),
    once(service, 'exit').then(([code]) => assert.fail(`the service ended with ${code}`)),
  ]);
  return service;
}

// Sends a request from the page, as the dashboard does.
const fromPage = (page, method, path, body) =>
  page.evaluate(
    async ([method, path, body]) => {
      const options = { method, headers: body ? { 'Content-Type': 'application/json' } : {}, body };
      const response = await fetch(path, options);
      const text = await response.text();
      return { status: response.status, body: text ? JSON.parse(text) : null };
    },
    [method, path, body && JSON.stringify(body)],
  );

async function signIn(page, base) {
  await page.goto(`${base}/auth/login?return_to=${PAGE}`);
  await page.fill('input[name=login]', 'ana');
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  await page.click('button[type=submit]:has-text("Continue")');
  await page.waitForURL(`${base}${PAGE}`);
}

async function check(browser, base, provider) {
  const context = await browser.newContext();
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const step = (words) => console.log(`ok  ${words}`);

  await page.goto(`${base}${PAGE}`);
  const nobody = await fromPage(page, 'GET', '/auth/session');
  assert.deepEqual([nobody.status, nobody.body.sign_in], [401, 'oidc']);
  step('nobody is signed in');

  await signIn(page, base);
  const session = await fromPage(page, 'GET', '/auth/session');
  assert.equal(session.status, 200, JSON.stringify(session.body));
  assert.equal(session.body.person.email, 'ana@example.com');
  assert.equal(session.body.tenant.name, 'ana');
  const cookie = (await context.cookies(base)).find(({ name }) => name === '__Host-session');
  assert.ok(cookie?.httpOnly && cookie.secure && cookie.sameSite === 'Lax' && cookie.path === '/', JSON.stringify(cookie));
  assert.ok(!(await page.evaluate(() => document.cookie)).includes('session'), 'scripts cannot read it');
  step('a first sign-in makes a tenant and a session');

  const key = await fromPage(page, 'POST', '/v1/api-keys', { name: 'from the browser' });
  assert.equal(key.status, 201, JSON.stringify(key.body));
  const withKey = () => fetch(`${base}/v1/tenant`, { headers: { Authorization: `Bearer ${key.body.key}` } });
  assert.equal((await (await withKey()).json()).id, session.body.tenant.id);
  step('a key made in the browser works for programs');

  // Another port is another origin, yet the same site: the browser sends the cookie along.
  const foreign = await context.newPage();
  await foreign.goto(`${provider.issuer}/.well-known/openid-configuration`);
  await foreign.evaluate(async (url) => {
    const options = { method: 'POST', credentials: 'include', mode: 'no-cors', body: '{}' };
    // The browser may hide the answer; what counts is what the service did.
    for (const path of ['/v1/api-keys', '/auth/logout']) await fetch(url + path, options).catch(() => {});
  }, base);
  await foreign.close();
  const keys = await fromPage(page, 'GET', '/v1/api-keys');
  assert.deepEqual(keys.body.data.map(({ name }) => name), ['from the browser']);
  step("another site's page changes nothing");

  assert.equal((await fromPage(page, 'POST', '/auth/logout')).status, 204);
  assert.equal((await fromPage(page, 'GET', '/auth/session')).status, 401);
  const stolen = await fetch(`${base}/v1/tenant`, { headers: { Cookie: `__Host-session=${cookie.value}` } });
  assert.equal(stolen.status, 401, 'the cookie is dead on the server');
  assert.equal((await withKey()).status, 200);
  step('signing out ends the session and not the key');

  await page.goto(`${base}/auth/login?return_to=${PAGE}`);
  await page.waitForURL(`${base}${PAGE}`);
  const again = await fromPage(page, 'GET', '/auth/session');
  assert.deepEqual([again.status, again.body.tenant?.id], [200, session.body.tenant.id]);
  step('the next sign-in finds the same tenant');

  await provider.stop();
  // The sign-ins of a few seconds share what the provider published.
  const deadline = Date.now() + 15_000;
  while ((await fetch(`${base}/auth/login`, { redirect: 'manual' })).status !== 502) {
    assert.ok(Date.now() < deadline, 'the service notices that the provider is down');
    await setTimeout(500);
  }
  const shown = await page.goto(`${base}/auth/login`);
  assert.equal(shown.status(), 502);
  assert.ok((await page.textContent('main')).includes('The identity provider cannot be reached'));
  assert.equal((await withKey()).status, 200);
  step('without the provider there is a clear page, and the API goes on');
}

const folder = await mkdtemp(join(tmpdir(), 'switchhook-oidc-'));
const [port, providerPort] = [await freePort(), await freePort()];
const base = `http://127.0.0.1:${port}`;
const provider = await startProvider(providerPort, `${base}/auth/callback`);
const service = await startService(folder, provider.issuer, port);
try {
  // Chromium's sandbox does not run as root.
  const browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
  try {
    await check(browser, base, provider);
  } finally {
    await browser.close();
  }
} finally {
  service.kill('SIGKILL');
  await once(service, 'exit');
  await rm(folder, { recursive: true, force: true });
}
process.exit(0);

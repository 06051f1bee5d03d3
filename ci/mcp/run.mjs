// run.mjs BINARY PYTHON: the suite for clients, then real servers, each in calls of the service. Exits with 0 when all do what they should.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort, listening } from './ports.mjs';
import { Service } from './service.mjs';

const [binary, python] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, 'node_modules', '@modelcontextprotocol');
const run = promisify(execFile);

// What the service offers: it begins with `initialize`, uses tools, and resumes responses. It neither asks its callers for what a server
// wants to know (elicitation) nor signs in (OAuth): credentials are headers of the tool.
const SCENARIOS = ['initialize', 'tools_call', 'sse-retry'];

const version = async (name) => JSON.parse(await readFile(join(modules, name, 'package.json'))).version;
const ok = (words) => console.log(`ok  ${words}`);

// An address where client.mjs asks for calls.
async function calls(service) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { url, uses } = JSON.parse(body);
    const done = await service.call(url, uses).then((result) => [200, result], (error) => [500, String(error)]);
    response.writeHead(done[0]).end(JSON.stringify(done[1]));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function suite(service, folder) {
  const server = await calls(service);
  const env = { ...process.env, SWITCHHOOK_CALLS: `http://127.0.0.1:${server.address().port}` };
  const failed = [];
  for (const scenario of SCENARIOS) {
    const client = `${process.execPath} ${join(here, 'client.mjs')}`;
    const options = ['client', '--command', client, '--scenario', scenario, '--timeout', '40000'];
    try {
      const suite = [join(modules, 'conformance', 'dist', 'index.js'), ...options];
      const { stdout, stderr } = await run(process.execPath, suite, { cwd: folder, env });
      // A scenario that saw no request passes.
      assert.match(stdout + stderr, /Passed: [1-9]/, 'the scenario checked nothing');
      ok(`conformance: ${scenario}`);
    } catch (error) {
      failed.push(scenario);
      console.log(`FAILED  conformance: ${scenario}\n${error.stdout ?? ''}${error.stderr ?? error}`);
    }
  }
  server.close();
  assert.deepEqual(failed, [], 'scenarios of the suite failed');
}

// The real servers: how each is started, and what its tools are used for.
const SERVERS = [
  {
    name: 'server-everything (TypeScript SDK)',
    command: [process.execPath, join(modules, 'server-everything', 'dist', 'index.js'), 'streamableHttp'],
    path: '/mcp',
    uses: [
      [{ name: 'echo', arguments: { message: 'Friday' } }, /Echo: Friday/],
      [{ name: 'get-sum', arguments: { a: 2, b: 3 } }, /5/],
      [{ name: 'get-structured-content', arguments: { location: 'New York' } }, /"temperature"/],
      [{ name: 'get-structured-content', arguments: { location: 'Nowhere' } }, /location/],
      [{ name: 'get-tiny-image', arguments: {} }, /"text"/],
      [{ name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } }, /completed/],
    ],
  },
  {
    name: 'mcp (Python SDK)',
    command: [python, join(here, 'server_mcp.py')],
    path: '/mcp',
    uses: [
      [{ name: 'book', arguments: { table: { day: 'Friday', people: 4 } } }, /"people":4/],
      [{ name: 'book', arguments: { table: { day: 'Friday' } } }, /people/],
      [{ name: 'slow', arguments: { seconds: 1 } }, /Done/],
      [{ name: 'slow', arguments: { seconds: 30 } }, /not respond in time/],
      [{ name: 'fail', arguments: {} }, /"error":"The tool failed/],
    ],
  },
  {
    name: 'fastmcp, behind its redirect',
    command: [python, join(here, 'server_fastmcp.py')],
    path: '/mcp',
    uses: [
      [{ name: 'tables', arguments: { day: 'Friday' } }, /19:00/],
      [{ name: 'hours', arguments: {} }, /nine to five/],
    ],
  },
];

async function real(service, { name, command, path, uses }) {
  const port = await freePort();
  const [program, ...options] = command;
  const env = { ...process.env, PORT: String(port) };
  const server = spawn(program, [...options, String(port)], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const said = [];
  server.stderr.on('data', (piece) => said.push(piece));
  try {
    await listening(port);
    const { offered, returned, ended } = await service.call(`http://127.0.0.1:${port}${path}`, uses.map(([use]) => use));
    for (const [use] of uses) assert.ok(offered.includes(use.name), `${name}: ${use.name} is offered: ${offered}`);
    uses.forEach(([use, expected], position) => {
      assert.match(returned[position] ?? 'nothing', expected, `${name}: ${JSON.stringify(use)}`);
    });
    assert.equal(ended, 'agent_hangup', name);
    ok(`${name}: ${offered.length - 1} tools, ${uses.length} uses`);
  } catch (error) {
    console.log(Buffer.concat(said).toString().slice(-2000));
    throw error;
  } finally {
    server.kill('SIGKILL');
  }
}

const folder = await mkdtemp(join(tmpdir(), 'switchhook-mcp-'));
const service = await Service.start(binary, folder);
try {
  console.log(`@modelcontextprotocol/conformance ${await version('conformance')}, server-everything ${await version('server-everything')}`);
  await suite(service, folder);
  for (const server of SERVERS) await real(service, server);
} finally {
  service.stop();
  await rm(folder, { recursive: true, force: true });
}

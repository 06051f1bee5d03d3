// A service with a simulated phone network, and a model that calls tools by a plan.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { freePort } from './ports.mjs';

const OWN = '+12025550199';
// Answers and holds the line.
const CALLEE = '+12025550109';

export class Service {
  #plans = new Map();

  static async start(binary, folder) {
    const service = new Service();
    await service.#start(binary, folder);
    return service;
  }

  async #start(binary, folder) {
    const model = createServer((request, response) => this.#respond(request, response)).listen(0, '127.0.0.1');
    await once(model, 'listening');
    const [port, inherited] = [await freePort(), Object.entries(process.env)];
    const env = {
      ...Object.fromEntries(inherited.filter(([name]) => !name.startsWith('SWITCHHOOK_'))),
      SWITCHHOOK_DATA_DIR: join(folder, 'data'),
      SWITCHHOOK_LISTEN: `127.0.0.1:${port}`,
      SWITCHHOOK_LOG: 'warn',
      SWITCHHOOK_OUTBOUND_ALLOW: '127.0.0.0/8,::1/128,http',
    };
    const made = execFileSync(binary, ['tenant', 'create', 'mcp', '--json', '--rate-limit', '100000'], { env });
    this.key = JSON.parse(made).api_key.key;
    this.base = `http://127.0.0.1:${port}`;
    this.process = spawn(binary, ['serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(this.process, 'exit').then(([code]) => assert.fail(`the service ended with ${code}`));
    await Promise.race([once(this.process.stdout, 'data'), ended]);
    const scripted = await this.#create('/v1/connections', { name: 'scripted', provider: 'scripted' });
    const settings = { base_url: `http://127.0.0.1:${model.address().port}/v1`, kinds: ['llm'] };
    const credentials = { api_key: 'sk-0123456789abcdef' };
    const llm = await this.#create('/v1/connections', { name: 'model', provider: 'openai', settings, credentials });
    const network = { name: 'network', provider: 'simulator', settings: { time_scale: 0.05 } };
    const carrier = await this.#create('/v1/connections', network);
    await this.#create('/v1/numbers', { number: OWN, connection_id: carrier.id });
    const by = { connection_id: scripted.id };
    this.agent = { stt: by, tts: by, llm: { connection_id: llm.id }, greeting: { mode: 'generate' } };
    this.model = model;
  }

  // Holds a call with the tools of the server at `url`, in which the model uses the tools of `uses` one after the other.
  // What it was offered, what each use returned, and how the call ended.
  async call(url, uses) {
    const id = `plan-${this.#plans.size}`;
    const plan = { uses, offered: [], returned: [] };
    this.#plans.set(id, plan);
    const tools = [{ type: 'mcp', name: 'remote', url, timeout_seconds: 5 }];
    const instructions = `Follow ${id}.`;
    const agent = await this.#create('/v1/agents', { ...this.agent, name: id, instructions, tools, analysis: { summary: false } });
    let call = await this.#create('/v1/calls', { agent_id: agent.id, to: CALLEE });
    const deadline = Date.now() + 30_000;
    while (!['completed', 'failed'].includes(call.status)) {
      assert.ok(Date.now() < deadline, `the call of ${id} ends`);
      await setTimeout(100);
      call = await this.#send('GET', `/v1/calls/${call.id}`);
    }
    return { offered: plan.offered, returned: plan.returned, ended: call.end_reason ?? call.error };
  }

  async #create(path, body) {
    return this.#send('POST', path, body);
  }

  async #send(method, path, body) {
    const headers = { Authorization: `Bearer ${this.key}`, 'Content-Type': 'application/json' };
    const response = await fetch(this.base + path, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${text}`);
    return JSON.parse(text);
  }

  // Streams the next step of the plan that the instructions name: a tool, or goodbye.
  async #respond(request, response) {
    let body = '';
    for await (const piece of request) body += piece;
    const plan = this.#plans.get(body.match(/plan-\d+/)?.[0]);
    if (request.method !== 'POST' || !plan) return response.writeHead(404).end();
    const { messages, tools = [] } = JSON.parse(body);
    plan.offered = tools.map((tool) => tool.function.name);
    plan.returned = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    const use = plan.uses[plan.returned.length];
    const called = use ?? { name: 'end_call', arguments: {} };
    const id = `call_${plan.returned.length}`;
    const function_ = { name: called.name, arguments: JSON.stringify(called.arguments) };
    const delta = { content: use ? null : 'Goodbye.', tool_calls: [{ index: 0, id, type: 'function', function: function_ }] };
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const choice of [{ index: 0, delta }, { index: 0, delta: {}, finish_reason: 'tool_calls' }]) {
      response.write(`data: ${JSON.stringify({ choices: [choice] })}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  }

  stop() {
    this.process.removeAllListeners('exit');
    this.process.kill('SIGKILL');
    this.model.close();
  }
}

/** The client. */
import { SwitchhookError, WaitTimeoutError } from "./errors.js";
import * as resources from "./resources.js";
import { segment } from "./request.js";
import type { RequestOptions } from "./shapes.js";
import { Position } from "./sse.js";
import { timerMs } from "./timers.js";
import { Transport } from "./transport.js";
import type { Call } from "./types.js";

export type Options = {
  /** Default: SWITCHHOOK_API_KEY. */
  apiKey?: string | undefined;
  /** Default: SWITCHHOOK_URL, else `http://127.0.0.1:8080`. */
  baseUrl?: string | undefined;
  /** Milliseconds for one attempt; default 40,000. The service gives up on a request after 30 seconds. */
  timeout?: number;
  /** How often a request is sent again; default 4. */
  maxRetries?: number;
  /** Instead of the global one. */
  fetch?: typeof fetch;
};

export class Calls extends resources.Calls {
  /** Waits until the call has ended, and returns it. Throws a WaitTimeoutError after `timeout` milliseconds; the call continues. */
  async wait(id: string, { timeout, signal }: RequestOptions = {}): Promise<Call> {
    const limit = timeout === undefined ? undefined : AbortSignal.timeout(timerMs(timeout));
    const signals = [signal, limit].filter((one) => one !== undefined);
    const request = { method: "GET", path: `/v1/calls/${segment(id)}/events` } as const;
    const both = AbortSignal.any(signals);
    const stream = this.transport.events(request, new Position(undefined, ["call.completed", "call.failed"]), both);
    try {
      for await (const event of stream) void event;
      const call = await this.get(id, { signal: both });
      if (call.ended_at !== null) return call;
    } catch (error) {
      signal?.throwIfAborted();
      if (!limit?.aborted) throw error;
    }
    throw new WaitTimeoutError(`Call ${id} had not ended` + (timeout === undefined ? "." : ` after ${timeout} milliseconds.`));
  }
}

/** A client of a Switchhook service. */
export class Switchhook {
  readonly agents: resources.Agents;
  readonly apiKeys: resources.ApiKeys;
  readonly attention: resources.Attention;
  readonly calls: Calls;
  readonly connections: resources.Connections;
  readonly events: resources.Events;
  readonly numbers: resources.Numbers;
  readonly people: resources.People;
  readonly simulator: resources.Simulator;
  readonly statistics: resources.Statistics;
  readonly tenant: resources.Tenant;
  readonly usage: resources.Usage;
  readonly webhooks: resources.Webhooks;

  constructor(options: Options = {}) {
    const apiKey = options.apiKey ?? environment("SWITCHHOOK_API_KEY");
    if (!apiKey) throw new SwitchhookError("There is no API key. Pass apiKey, or set SWITCHHOOK_API_KEY.");
    if (!/^[!-~]+$/.test(apiKey)) {
      throw new SwitchhookError("The API key has characters that no key has. Was it copied as a whole, without quotes or line ends?");
    }
    const baseUrl = options.baseUrl ?? environment("SWITCHHOOK_URL") ?? "http://127.0.0.1:8080";
    const transport = new Transport({
      apiKey,
      baseUrl: baseUrl.replace(/\/+$/, "").replace(/\/v1$/, ""),
      timeout: options.timeout ?? 40_000,
      maxRetries: options.maxRetries ?? 4,
      // Looked up at each request, so that tests and tracing can replace it.
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    });
    this.agents = new resources.Agents(transport);
    this.apiKeys = new resources.ApiKeys(transport);
    this.attention = new resources.Attention(transport);
    this.calls = new Calls(transport);
    this.connections = new resources.Connections(transport);
    this.events = new resources.Events(transport);
    this.numbers = new resources.Numbers(transport);
    this.people = new resources.People(transport);
    this.simulator = new resources.Simulator(transport);
    this.statistics = new resources.Statistics(transport);
    this.tenant = new resources.Tenant(transport);
    this.usage = new resources.Usage(transport);
    this.webhooks = new resources.Webhooks(transport);
  }
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}

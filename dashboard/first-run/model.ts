/** A model double with OpenAI's API: it does what the instructions say, so that nothing but them can be the source of its words. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const KEY = "sk-0123456789abcdef";
/** The one kind of instruction that the double can follow. */
const RULE = /answer with these words: (.+)/i;

type Message = { role: string; content: unknown };

export class Model {
  private constructor(private readonly server: Server) {}

  static async start(): Promise<Model> {
    const server = createServer((request, response) => void respond(request, response));
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    return new Model(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  if (request.headers.authorization !== `Bearer ${KEY}`)
    return json(response, 401, { error: { message: "Incorrect API key" } });
  if (request.url === "/v1/models")
    return json(response, 200, { object: "list", data: [{ id: "double-1", object: "model" }] });
  if (request.url !== "/v1/chat/completions") return json(response, 404, { error: { message: "not found" } });
  const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as { messages: Message[] };
  const instructions = messages.filter(({ role }) => role === "system").map(({ content }) => String(content));
  stream(response, RULE.exec(instructions.join("\n"))?.[1] ?? "Yes.");
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function stream(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const chunk = (delta: object, finish_reason: string | null) =>
    response.write(
      `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
    );
  for (const word of text.split(/(?<= )/)) chunk({ content: word }, null);
  chunk({}, "stop");
  response.end("data: [DONE]\n\n");
}

/** The network between the browser and the service, which can fail: a proxy of the browser's. */
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";

export class Network {
  /** Both ends of every tunnel; Chromium makes one for each websocket. */
  private readonly tunnels = new Set<Socket>();
  private works = true;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Network> {
    const server = createServer(forward);
    const network = new Network(server);
    server.on("connect", (asked: IncomingMessage, browser: Socket) => network.tunnel(asked, browser));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return network;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Drops every tunnel without a word, and opens none until `recover`. */
  fail(): void {
    this.works = false;
    for (const socket of this.tunnels) socket.destroy();
  }

  recover(): void {
    this.works = true;
  }

  stop(): void {
    this.fail();
    this.server.close();
    this.server.closeAllConnections();
  }

  private tunnel(asked: IncomingMessage, browser: Socket): void {
    if (!this.works) {
      browser.destroy();
      return;
    }
    const { hostname, port } = new URL(`http://${asked.url}`);
    const service = connect(Number(port || 80), hostname, () => {
      browser.write("HTTP/1.1 200 OK\r\n\r\n");
      service.pipe(browser).pipe(service);
    });
    for (const [one, other] of [
      [browser, service],
      [service, browser],
    ] as const) {
      this.tunnels.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.tunnels.delete(one);
        other.destroy();
      });
    }
  }
}

function forward(asked: IncomingMessage, answer: ServerResponse): void {
  const sent = request(asked.url ?? "", { method: asked.method, headers: asked.headers }, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(answer);
  });
  sent.on("error", () => answer.destroy());
  answer.on("close", () => sent.destroy());
  asked.pipe(sent);
}

/** The service's side of a web call, played by the test: what is sent, and what the browser answered. */

import type { Page, WebSocketRoute } from "@playwright/test";

const CALL_ID = "01a20600-0000-7000-8000-000000000001";

export class FakeWebCall {
  /** The texts of the browser, over all sockets. */
  readonly texts: Record<string, unknown>[] = [];
  /** The microphone's frames, over all sockets. */
  readonly frames: Buffer[] = [];
  /** The body of the `POST /v1/calls`. */
  placed: Record<string, unknown> | null = null;
  /** How many sockets were opened. */
  sockets = 0;
  private socket: WebSocketRoute | null = null;

  /** Answers the next call of this page, instead of the service. */
  static async install(page: Page): Promise<FakeWebCall> {
    const call = new FakeWebCall();
    await page.route("**/v1/calls", async (route) => {
      if (route.request().method() !== "POST") return route.fallback();
      call.placed = route.request().postDataJSON() as Record<string, unknown>;
      const url = new URL("/media/web/token-1", page.url());
      url.protocol = "ws:";
      await route.fulfill({
        status: 201,
        json: { id: CALL_ID, status: "queued", direction: "web", web: { url: url.href, expires_at: "2030-01-01T00:00:00Z" } },
      });
    });
    await page.routeWebSocket(/\/media\/web\//, (socket) => call.open(socket));
    return call;
  }

  private open(socket: WebSocketRoute): void {
    this.sockets += 1;
    this.socket = socket;
    socket.onMessage((message) => {
      if (typeof message === "string") this.texts.push(JSON.parse(message) as Record<string, unknown>);
      else this.frames.push(message);
    });
    socket.send(JSON.stringify({ type: "start", sample_rate: 16_000 }));
  }

  send(text: Record<string, unknown>): void {
    this.socket?.send(JSON.stringify(text));
  }

  /** A socket's first state has the token that resumes the call. */
  state(state: "listening" | "thinking" | "speaking", resume?: string): void {
    this.send({ type: "state", state, resume });
  }

  says(role: "agent" | "caller", text: string, final = true): void {
    this.send({ type: "transcript", role, text, final });
  }

  /** Sends a tone as the agent's voice, as much ahead of its time as the service may be. */
  async speak(ms: number): Promise<void> {
    for (let sent = 0; sent < ms; sent += 20) {
      const frame = Buffer.alloc(640);
      for (let i = 0; i < 320; i++) frame.writeInt16LE(Math.round(8_000 * Math.sin((2 * Math.PI * 440 * i) / 16_000)), i * 2);
      this.socket?.send(frame);
      await new Promise((resolve) => setTimeout(resolve, 18));
    }
  }

  /** Loses the connection, as a change of network does. */
  async lose(): Promise<void> {
    await this.socket?.close({ code: 4001 });
  }

  ofType(type: string): Record<string, unknown>[] {
    return this.texts.filter((text) => text.type === type);
  }
}

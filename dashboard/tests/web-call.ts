/** What goes over the sockets of a page's web call, as the browser's own network log shows it. */
import type { Page } from "@playwright/test";

type Text = { type?: string } & Record<string, unknown>;

export class WebCall {
  /** The call's id, where the page placed it. */
  id = "";
  /** The addresses of the sockets. */
  readonly sockets: string[] = [];
  /** The texts of the service and those of the page, over all sockets. */
  readonly received: Text[] = [];
  readonly sent: Text[] = [];
  /** The microphone's frames, and how many came of the agent. */
  readonly microphone: Buffer[] = [];
  agentFrames = 0;

  static of(page: Page): WebCall {
    const call = new WebCall();
    page.on("websocket", (socket) => {
      if (!socket.url().includes("/media/web/")) return;
      call.sockets.push(socket.url());
      socket.on("framesent", ({ payload }) => {
        if (typeof payload === "string") call.sent.push(JSON.parse(payload) as Text);
        else call.microphone.push(payload);
      });
      socket.on("framereceived", ({ payload }) => {
        if (typeof payload === "string") call.received.push(JSON.parse(payload) as Text);
        else call.agentFrames += 1;
      });
    });
    return call;
  }

  receivedOf(type: string): Text[] {
    return this.received.filter((text) => text.type === type);
  }

  sentOf(type: string): Text[] {
    return this.sent.filter((text) => text.type === type);
  }

  /** The tokens by which the call goes on, the latest last. */
  resumeTokens(): string[] {
    return this.receivedOf("state").flatMap(({ resume }) => (typeof resume === "string" ? [resume] : []));
  }
}

/** What a page plays, by the messages that reach its loudspeaker. */
import type { Page } from "@playwright/test";
import { expect } from "./look";

type Heard = { loud?: number };

/** Listens to the page from its next load on. */
export async function listenTo(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const post = MessagePort.prototype.postMessage;
    MessagePort.prototype.postMessage = function (this: MessagePort, message: unknown, ...rest: unknown[]) {
      const { type, pcm } = (message ?? {}) as { type?: string; pcm?: ArrayBuffer };
      if (type === "audio" && pcm) {
        const heard = window as unknown as Heard;
        heard.loud = Math.max(heard.loud ?? 0, ...new Int16Array(pcm));
      }
      return Reflect.apply(post, this, [message, ...rest]) as void;
    } as typeof post;
  });
}

/** Waits until the page has played speech. */
export async function playsSpeech(page: Page): Promise<void> {
  const loudest = () => page.evaluate(() => (window as unknown as Heard).loud ?? 0);
  await expect.poll(loudest, { timeout: 20_000 }).toBeGreaterThan(1_000);
}

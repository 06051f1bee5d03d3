/** Talking to an agent on its page. */
import type { Page } from "@playwright/test";
import { expect, settled } from "./look";
import { ENDED_MS, type Seed, type Service } from "./service";
import { WebCall } from "./web-call";

/** A conversation on a busy machine, and the wait for the call's end. */
export const TALK_MS = ENDED_MS + 180_000;

/** Short, so that no test waits for it. */
export const GREETING = "Your name, please?";

/** Half a minute, so that an interruption is in time. */
export const LONG_TEXT =
  "Good evening. First of all, let me tell you when we are open. We are open from Tuesday to Sunday, from noon until ten in the " +
  "evening. On Sundays there is breakfast, too, from eight until eleven in the morning. Children are welcome, and so are dogs. " +
  "In summer you can sit in the garden, and in winter beside the fire. The kitchen closes at half past nine.";
/** The end of it, which is not heard. */
export const LAST_WORDS = "closes at half past nine";

/** Opens the agent with a greeting of the test's own, and presses Talk. */
export async function talk(page: Page, agent: string, greeting = GREETING): Promise<WebCall> {
  const call = WebCall.of(page);
  await page.goto(`/agents/${agent}`);
  await settled(page);
  await page.getByLabel("Greeting text").fill(greeting);
  await expect(page.getByText("Uses your unsaved greeting.")).toBeVisible();
  const placed = page.waitForResponse(
    (response) => response.request().method() === "POST" && response.url().endsWith("/v1/calls"),
  );
  await page.getByRole("button", { name: "Talk", exact: true }).click();
  call.id = ((await (await placed).json()) as { id: string }).id;
  await expect(page.getByText("Live", { exact: true })).toBeVisible({ timeout: 20_000 });
  return call;
}

/** An agent that plays tones for words: on a busy machine a voice is late with a long text, and the call fails. */
export async function agentOfTones(service: Service, { agent }: Seed): Promise<{ id: string; name: string }> {
  type Agent = { llm: { connection_id: string }; silence: unknown; turn_taking: unknown };
  const { llm, silence, turn_taking } = await service.get<Agent>(`/v1/agents/${agent}`);
  // One connection does both.
  const tts = { connection_id: llm.connection_id };
  const name = `Tones ${Date.now()}`;
  return service.post("/v1/agents", { name, instructions: "Book a table.", llm, tts, silence, turn_taking });
}

/** The lines of one side in the transcript on the page. */
export function linesOf(page: Page, who: string) {
  return page
    .getByRole("log", { name: "Transcript" })
    .getByRole("listitem")
    .filter({ hasText: new RegExp(`^${who}`) });
}

export async function endCall(page: Page): Promise<string> {
  await page.getByRole("button", { name: "End call" }).click();
  await expect(page.getByText("You ended the call.")).toBeVisible();
  return openedCall(page);
}

/** The call's id, by its link. */
export async function openedCall(page: Page): Promise<string> {
  const link = await page.getByRole("link", { name: "Open call" }).getAttribute("href");
  return link?.split("/").at(-1) ?? "";
}

export type Call = {
  status: string;
  direction: string;
  end_reason: string;
  turns: number;
  outcome: unknown;
  recording_url: string;
};

export async function ended(service: Service, id: string): Promise<Call> {
  await service.ended(id);
  return service.get<Call>(`/v1/calls/${id}`);
}

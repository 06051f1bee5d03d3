/** Talking to an agent on its page. */
import type { Page } from "@playwright/test";
import { expect, settled } from "./look";
import type { Service } from "./service";
import { WebCall } from "./web-call";

/** Short, so that no test waits for it. */
export const GREETING = "Your name, please?";

/** Opens the agent with a greeting of the test's own, and presses Talk. */
export async function talk(page: Page, agent: string, greeting = GREETING): Promise<WebCall> {
  const call = WebCall.of(page);
  await page.goto(`/agents/${agent}`);
  await settled(page);
  await page.getByLabel("Greeting text").fill(greeting);
  await expect(page.getByText("Uses your unsaved greeting.")).toBeVisible();
  await page.getByRole("button", { name: "Talk", exact: true }).click();
  await expect(page.getByText("Live", { exact: true })).toBeVisible({ timeout: 20_000 });
  return call;
}

/** The lines of one side in the transcript on the page. */
export function linesOf(page: Page, who: string) {
  return page.getByRole("log", { name: "Transcript" }).getByRole("listitem").filter({ hasText: new RegExp(`^${who}`) });
}

/** The id of the one call that somebody has in a browser now. */
export async function liveCall(service: Service): Promise<string> {
  let calls: { id: string }[] = [];
  const read = async () => {
    calls = (await service.get<{ data: { id: string }[] }>("/v1/calls?direction=web&status=in_progress")).data;
    return calls.length;
  };
  await expect.poll(read).toBe(1);
  return calls[0]?.id ?? "";
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

export type Call = { status: string; direction: string; end_reason: string; turns: number; outcome: unknown; recording_url: string };

export async function ended(service: Service, id: string): Promise<Call> {
  await service.ended(id);
  return service.get<Call>(`/v1/calls/${id}`);
}

/** From an empty folder to a spoken conversation with an agent whose instructions were just typed. */
import { expect, test } from "@playwright/test";
import { ANSWER_MS, Caller, callerSays } from "../tests/caller";
import { settled } from "../tests/look";
import { listenTo, playsSpeech } from "../tests/loudspeaker";
import { endCall, linesOf } from "../tests/talk";
import { KEY, Model } from "./model";
import { Dev } from "./package";

/** A sentence that stands nowhere but in the typed instructions. */
const SENTENCES = [
  "The lighthouse opens at nine.",
  "The ferry leaves from the north pier.",
  "Breakfast is in the garden room.",
];

/** What a new user is promised, from the start of the command to a spoken conversation. */
const PROMISED_MS = 120_000;

// The fake microphone's recording; the caller speaks when the test says so.
callerSays();

test("a new user types instructions and talks with an agent that follows them", async ({ page }) => {
  const model = await Model.start();
  const dev = Dev.start({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: model.url });
  try {
    const began = Date.now();
    const downloads = await dev.downloads();
    const [link] = await dev.prints(/http:\S+\/auth\/login\?token=\S+/);
    await dev.prints(/Language model .* responded/);
    const ready = Date.now();
    const caller = await Caller.at(page);
    await listenTo(page);
    await page.goto(link);
    await page.getByRole("link", { name: "Agents", exact: true }).click();
    await page.getByRole("button", { name: "New agent" }).click();
    await settled(page);

    const sentence = SENTENCES[began % SENTENCES.length]!;
    await page.getByLabel("Name", { exact: true }).fill("Pier desk");
    await page
      .getByLabel("Instructions")
      .fill(`You are the desk at the pier.\nWhatever the caller says, answer with these words: ${sentence}`);
    await page.getByRole("button", { name: "Use llm" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByText("Version 1", { exact: true })).toBeVisible();
    await page.getByRole("button", { name: "Talk", exact: true }).click();
    await expect(page.getByText("Live", { exact: true })).toBeVisible();
    await caller.answers("how can I help you?", "name");
    await expect(linesOf(page, "Pier desk").last()).toContainText(sentence, { timeout: ANSWER_MS });
    await playsSpeech(page);
    const spoken = Date.now();
    await expect(linesOf(page, "You").first()).toContainText("Sarah");
    await endCall(page);
    const seconds = (from: number, to: number) => ((to - from) / 1000).toFixed(1);
    const download = downloads ? `, of which the download of the models took up to ${seconds(began, downloads)} s` : "";
    console.log(
      `ready after ${seconds(began, ready)} s, the agent's answer was heard after ${seconds(began, spoken)} s${download}`,
    );
    // How fast a network is proves nothing here.
    expect(spoken - (downloads ?? began)).toBeLessThan(PROMISED_MS);
  } finally {
    await dev.stop();
    model.stop();
  }
});

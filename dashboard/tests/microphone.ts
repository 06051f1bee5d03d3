/** The browser's microphone in tests: Chromium's own tone, a file, or none. */
import config from "../playwright.config";

type Microphone = { file: string } | "tone" | "denied";

/** Options of a file's `test.use`: a microphone takes a browser of its own. */
export function withMicrophone(microphone: Microphone) {
  const { args = [], ...launchOptions } = config.use?.launchOptions ?? {};
  const fake = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];
  const own =
    microphone === "denied"
      ? ["--deny-permission-prompts"]
      : microphone === "tone"
        ? fake
        : [...fake, `--use-file-for-fake-audio-capture=${microphone.file}%noloop`];
  return { launchOptions: { ...launchOptions, args: [...args, ...own, "--autoplay-policy=user-gesture-required"] } };
}

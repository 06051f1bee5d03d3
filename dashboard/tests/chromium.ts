/** How the tests start Chromium. */
import { RECORDING } from "./caller";

export const executablePath = process.env.SWITCHHOOK_CHROMIUM ?? "/usr/bin/chromium";

// No sandbox, because CI runs as root; no traffic of the browser's own; sound plays only after a click, as for everybody.
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--autoplay-policy=user-gesture-required",
];

/** A microphone that plays the caller's recording, and may be used. */
export const withCaller = {
  executablePath,
  args: [
    ...ARGS,
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    `--use-file-for-fake-audio-capture=${RECORDING}%noloop`,
  ],
};

/** A person who does not let the page use the microphone. */
export const withoutMicrophone = { executablePath, args: [...ARGS, "--deny-permission-prompts"] };

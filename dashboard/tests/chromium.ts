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
/** The browser sends no UDP, as behind many firewalls: audio stays on the socket, where the tests see it. */
const WITHOUT_UDP = "--webrtc-ip-handling-policy=disable_non_proxied_udp";

/** A microphone that plays the caller's recording, and may be used. */
const MICROPHONE = [
  "--use-fake-device-for-media-stream",
  "--use-fake-ui-for-media-stream",
  `--use-file-for-fake-audio-capture=${RECORDING}%noloop`,
];

export const withCaller = { executablePath, args: [...ARGS, WITHOUT_UDP, ...MICROPHONE] };

/** The same with UDP, also on this machine alone. */
export const withCallerOverUdp = {
  executablePath,
  args: [
    ...ARGS,
    ...MICROPHONE,
    "--allow-loopback-in-peer-connection",
    "--disable-features=WebRtcHideLocalIpsWithMdns",
  ],
};

/** A person who does not let the page use the microphone. */
export const withoutMicrophone = { executablePath, args: [...ARGS, "--deny-permission-prompts"] };

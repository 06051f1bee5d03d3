/**
 * A button for any web page that talks to an agent; see `EMBED.md`. It is one classic script with everything in it, and
 * lives in a shadow root, so that the page's styles and its own do not meet.
 */

import microphoneCode from "virtual:worklet/microphone";
import speakerCode from "virtual:worklet/speaker";
import { TalkSession } from "../talk/session";
import { isActive, type Refusal, type TalkCall } from "../talk/talk-state";
import { refusalWords } from "../talk/words";
import { addressIn, readOptions, type EmbedOptions } from "./options";
import { EmbedView } from "./view";

const script = document.currentScript as HTMLScriptElement | null;

/** The page's own server said no. */
class TokenError extends Error {}

async function placeCall(options: EmbedOptions, address: string): Promise<TalkCall> {
  if (options.tokenUrl === null) {
    if (options.url === null) throw new TokenError("The page gave no token.");
    // A token is good for one call; a second one needs the page's server.
    const url = options.url;
    options.url = null;
    return { id: null, url };
  }
  const response = await fetch(options.tokenUrl, { method: "POST", credentials: "include" });
  const answer: unknown = await response.json().catch(() => null);
  const url = response.ok ? addressIn(answer, address) : null;
  if (url === null) throw new TokenError("Calls are not possible at the moment.");
  return { id: null, url };
}

function refusal(error: unknown): Refusal {
  const detail = error instanceof TokenError ? error.message : "Calls are not possible at the moment.";
  return { kind: "service", status: 0, code: "token", detail };
}

function start(element: HTMLScriptElement): void {
  const address = element.src;
  const options = readOptions({ ...element.dataset }, address);
  // Worklets come from this script rather than from the service: a page loads those of another host only with CORS.
  const worklets = { microphone: blobAddress(microphoneCode), speaker: blobAddress(speakerCode) };
  const session = new TalkSession({
    worklets,
    placeCall: () => placeCall(options, address),
    refusal,
    hangUp: () => undefined,
  });
  const view = new EmbedView(options, {
    talk: () => session.dispatch({ type: isActive(session.state) ? "end" : "talk" }),
    microphone: () => session.pressMicrophone(),
  });
  const draw = () => {
    const { refusal: reason } = session.state;
    const mayTalk = options.tokenUrl !== null || options.url !== null || isActive(session.state);
    view.draw(session.state, reason ? refusalWords(reason) : null, mayTalk);
  };
  session.subscribe(draw);
  window.addEventListener("pagehide", () => session.dispose());
  const place = options.target === null ? document.body : document.querySelector(options.target);
  (place ?? document.body).append(view.host);
  draw();
}

function blobAddress(code: string): string {
  return URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
}

if (script) {
  if (document.body) start(script);
  else document.addEventListener("DOMContentLoaded", () => start(script), { once: true });
}

/** Whether a delivery is genuine. */
import { WebhookVerificationError } from "./errors.js";
import type { WebhookEvent } from "./events.js";

const HEADER = "x-voice-signature";

type HeaderMap = Pick<Headers, "get"> | Readonly<Record<string, string | readonly string[] | undefined>>;

export type VerifyOptions = {
  /** How far the time of the signature may be from now, in seconds. */
  tolerance?: number;
  /** Unix seconds. */
  now?: number;
};

/**
 * Checks the signature and the time of a delivery, and returns its event.
 *
 * Give the raw body, before it is parsed. `secret` is that of the endpoint, `whsec_…`, or several of them. Throws a WebhookVerificationError if the
 * delivery is not genuine or if its time differs from now by more than `tolerance` seconds.
 */
export async function verifyWebhook(
  payload: string | Uint8Array | ArrayBuffer,
  headers: HeaderMap,
  secret: string | readonly string[],
  { tolerance = 300, now = Date.now() / 1000 }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (secrets.length === 0 || secrets.some((one) => !one)) {
    throw new TypeError("The secret is empty. It is shown when the webhook is created and when its secret is rotated.");
  }
  const body = typeof payload === "string" ? new TextEncoder().encode(payload) : new Uint8Array(payload);
  const { time, signatures } = parts(headers);
  if (!(await isGenuine(signed(time, body), signatures, secrets))) {
    throw new WebhookVerificationError("No signature matches. Check the secret, and that the body is the raw one.");
  }
  if (!(Math.abs(now - Number(time)) <= tolerance)) {
    throw new WebhookVerificationError(`The delivery was signed more than ${tolerance} seconds from now. Check this machine's clock.`);
  }
  return eventOf(body);
}

/** The time and the signatures of the header. */
function parts(headers: HeaderMap): { time: string; signatures: string[] } {
  const found = isHeaders(headers) ? [headers.get(HEADER)] : valuesOf(headers);
  const [header, ...more] = found;
  if (typeof header !== "string" || more.length > 0) {
    throw new WebhookVerificationError("There is no X-Voice-Signature, or more than one.");
  }
  const all = header.split(",");
  const values = (name: string) => all.filter((part) => part.startsWith(`${name}=`)).map((part) => part.slice(name.length + 1));
  const [time, ...others] = values("t");
  if (time === undefined || others.length > 0 || !/^[0-9]+$/.test(time)) {
    throw new WebhookVerificationError("X-Voice-Signature has no time.");
  }
  return { time, signatures: values("v1") };
}

/** Frameworks bring their own `Headers`, which are no instances of the global one. */
function isHeaders(headers: HeaderMap): headers is Pick<Headers, "get"> {
  return typeof headers.get === "function";
}

function valuesOf(headers: HeaderMap): unknown[] {
  return Object.entries(headers)
    .filter(([name]) => name.toLowerCase() === HEADER)
    .flatMap(([, value]) => value);
}

function signed(time: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const prefix = new TextEncoder().encode(`${time}.`);
  const whole = new Uint8Array(prefix.length + body.length);
  whole.set(prefix);
  whole.set(body, prefix.length);
  return whole;
}

/** `crypto.subtle.verify` compares in constant time. */
async function isGenuine(data: Uint8Array<ArrayBuffer>, signatures: readonly string[], secrets: readonly string[]): Promise<boolean> {
  let genuine = false;
  for (const secret of secrets) {
    const hmac = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), hmac, false, ["verify"]);
    for (const signature of signatures) {
      if (/^[0-9a-f]{64}$/.test(signature)) genuine = (await crypto.subtle.verify("HMAC", key, bytesOf(signature), data)) || genuine;
    }
  }
  return genuine;
}

function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: hex.length / 2 }, (_, place) => Number.parseInt(hex.slice(2 * place, 2 * place + 2), 16));
}

function eventOf(body: Uint8Array): WebhookEvent {
  try {
    const event: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    if (typeof event === "object" && event !== null && "event" in event) return event as WebhookEvent;
  } catch {
    // Said below.
  }
  throw new WebhookVerificationError("The body is genuine but not an event.");
}

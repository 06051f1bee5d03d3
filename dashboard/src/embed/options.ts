/** What the attributes of the script element ask for. Pure. */

export interface EmbedOptions {
  /** The address of the socket, where the page brings a token. */
  url: string | null;
  /** Where the page's own server makes a call at each press of the button. */
  tokenUrl: string | null;
  /** The text on the button. */
  label: string;
  /** What the agent is called in the transcript. */
  agent: string;
  /** The element to put the button into; a corner of the page without. */
  target: string | null;
}

type Attributes = Record<string, string | undefined>;

/** Reads `data-token`, `data-token-url`, `data-label`, `data-agent` and `data-target`. */
export function readOptions(data: Attributes, scriptAddress: string): EmbedOptions {
  return {
    url: data.token ? socketAddress(data.token, scriptAddress) : null,
    tokenUrl: data.tokenUrl ?? null,
    label: data.label ?? "Talk to us",
    agent: data.agent ?? "Agent",
    target: data.target ?? null,
  };
}

/** The socket of a token at the service that sent this script; a whole address stays as it is. */
export function socketAddress(token: string, scriptAddress: string): string {
  if (/^wss?:\/\//.test(token)) return token;
  // The script lies at the root of the service, which may be below a path.
  const address = new URL(`media/web/${encodeURIComponent(token)}`, scriptAddress);
  address.protocol = address.protocol === "http:" ? "ws:" : "wss:";
  return address.href;
}

/** The socket's address in the answer of the page's server: `{"url": …}`, `{"token": …}`, or the whole call. */
export function addressIn(answer: unknown, scriptAddress: string): string | null {
  if (typeof answer !== "object" || answer === null) return null;
  const { url, token, web } = answer as Record<string, unknown>;
  if (typeof url === "string") return socketAddress(url, scriptAddress);
  if (typeof token === "string") return socketAddress(token, scriptAddress);
  return web === undefined ? null : addressIn(web, scriptAddress);
}

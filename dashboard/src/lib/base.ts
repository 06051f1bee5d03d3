/**
 * The path of the service's public address, such as `/voice`; empty if it has none. The built scripts lie in `assets/` below it.
 */
export const BASE = import.meta.env.PROD ? new URL("..", import.meta.url).pathname.replace(/\/$/, "") : "";

/** An address of the service, from a path such as `/v1/calls`. */
export function at(path: string): string {
  return BASE + path;
}

/** The ranges of the overview's figures. */
const DAY_MS = 86_400_000;

/** The start of today, here. */
export function midnight(): Date {
  const now = new Date();
  return new Date(now.getFullYear(), now.getMonth(), now.getDate());
}

/** Yesterday from midnight to this time of day. */
export function yesterday() {
  return {
    interval: "hour" as const,
    after: new Date(midnight().getTime() - DAY_MS).toISOString(),
    before: new Date(Date.now() - DAY_MS).toISOString(),
  };
}

/** How an agent's new calls are split among its versions. Pure. */

/** A version and its share of the calls. */
export interface TrafficPart {
  version: number;
  percent: number;
}

/** What this needs of an agent, as JSON or typed. */
interface Routed {
  version?: unknown;
  traffic?: unknown;
}

/** The parts of an agent's split; `null` where all calls get the newest version. */
export function trafficOf(agent: Routed): TrafficPart[] | null {
  if (!Array.isArray(agent.traffic)) return null;
  const parts = agent.traffic as { version: unknown; percent: unknown }[];
  return parts.map(({ version, percent }) => ({ version: Number(version), percent: Number(percent) }));
}

/** The share of new calls that a version gets. */
export function shareOf(agent: Routed, version: number): number {
  const traffic = trafficOf(agent) ?? [{ version: Number(agent.version), percent: 100 }];
  return traffic.find((part) => part.version === version)?.percent ?? 0;
}

/** What the page says of a split: `null` where all calls get the newest version. */
export function trafficWords(agent: Routed): string | null {
  const traffic = trafficOf(agent);
  if (traffic === null) return null;
  const [only, ...others] = traffic;
  if (only === undefined) return null;
  if (others.length === 0) return `New calls get version ${only.version}`;
  const rest = others.map((part) => `${part.percent}% version ${part.version}`);
  return [`${only.percent}% of new calls get version ${only.version}`, ...rest].join(", ");
}

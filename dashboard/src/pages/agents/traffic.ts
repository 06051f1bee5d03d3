/** How an agent's new calls are split among its versions. Pure. */

import { isObject, type JsonObject } from "./draft";

/** A version and its share of the calls. */
export interface TrafficPart {
  version: number;
  percent: number;
}

/** The parts of an agent's split; `null` where all calls get the newest version. */
export function trafficOf(agent: JsonObject): TrafficPart[] | null {
  if (!Array.isArray(agent.traffic)) return null;
  return agent.traffic
    .filter(isObject)
    .map((part) => ({ version: Number(part.version), percent: Number(part.percent) }));
}

/** The share of new calls that a version gets. */
export function shareOf(agent: JsonObject, version: number): number {
  const traffic = trafficOf(agent) ?? [{ version: Number(agent.version), percent: 100 }];
  return traffic.find((part) => part.version === version)?.percent ?? 0;
}

/** What the page says of a split: `null` where all calls get the newest version. */
export function trafficWords(agent: JsonObject): string | null {
  const traffic = trafficOf(agent);
  if (traffic === null) return null;
  const [only, ...others] = traffic;
  if (only !== undefined && others.length === 0) return `Calls get version ${only.version}`;
  return `Calls get ${traffic.map((part) => `${part.percent} % version ${part.version}`).join(", ")}`;
}

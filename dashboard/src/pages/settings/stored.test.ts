import { expect, test } from "vitest";
import { storedAmounts } from "./stored";

test("what is stored is counted, and versions of agents are measured", () => {
  const of = (in_use: number, limit: number) => ({ in_use, limit });
  const amounts = storedAmounts({
    agents: of(3, 500),
    connections: of(4, 200),
    numbers: of(1200, 1000),
    webhooks: of(2, 20),
    people: of(1, 200),
    api_keys: of(2, 500),
    agent_bytes: of(1_400_000, 268_435_456),
  });
  expect(amounts.map(({ name, used, limit, format }) => `${name}: ${format(used)} of ${format(limit)}`)).toEqual([
    "Agents: 3 of 500",
    "Agent versions: 1.4 MB of 268.4 MB",
    "Connections: 4 of 200",
    "Numbers: 1,200 of 1,000",
    "Webhook endpoints: 2 of 20",
    "People: 1 of 200",
    "API keys: 2 of 500",
  ]);
});

import type { Tenant } from "../../api/queries";
import { bytes, count } from "../../lib/format";

/** Something that is stored, and how much of it may be. */
export interface StoredAmount {
  name: string;
  hint?: string;
  used: number;
  limit: number;
  format: (value: number) => string;
}

/** What a tenant stores, in the page's order. */
export function storedAmounts(stored: Tenant["stored"]): StoredAmount[] {
  const amount = (name: string, of: { in_use: number; limit: number }, hint?: string, format = count) => ({
    name,
    hint,
    used: of.in_use,
    limit: of.limit,
    format,
  });
  return [
    amount("Agents", stored.agents),
    amount(
      "Agent versions",
      stored.agent_bytes,
      "The newest 100 of each agent, those that get calls, and those of calls",
      bytes,
    ),
    amount("Connections", stored.connections),
    amount("Numbers", stored.numbers),
    amount("Webhook endpoints", stored.webhooks),
    amount("People", stored.people, "Invitations included"),
    amount("API keys", stored.api_keys, "Without revoked ones"),
  ];
}

/** Types of `/v1/people`, which `docs/openapi.json` does not hold yet. */

import type { Role } from "./session";

export type PersonResource = {
  id: string;
  /** `null` unless it was invited or the identity provider has verified it. */
  email: string | null;
  /** `null` if the person is only invited. */
  name: string | null;
  role: Role;
  status: "active" | "invited";
  created_at: string;
  last_seen_at: string | null;
  /** When the invitation ends. */
  expires_at: string | null;
};

/** The answer to an invitation; the link is shown this once. */
export type InvitedPerson = PersonResource & { invitation_url: string };

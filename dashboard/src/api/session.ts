import { queryOptions } from "@tanstack/react-query";
import type { components } from "./schema";
import { request } from "./client";
import { at } from "../lib/base";
import { ApiError } from "./errors";

export type Role = "owner" | "member" | "viewer";
export type Person = { id: string; email: string | null; name: string; role?: Role };
export type Membership = { id: string; name: string; role: Role };
export type Session = {
  person: Person;
  tenant: components["schemas"]["Tenant"];
  /** The person's tenants, this one too. */
  tenants: Membership[];
  expires_at: string;
};

/** How somebody signs in here: at an identity provider, by the link in the terminal of `switchhook dev`, or not at all. */
export type SignIn = "oidc" | "local" | "off";
export type SessionState = { session: Session; signIn: null } | { session: null; signIn: SignIn };

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: readSession,
  staleTime: 60_000,
  retry: 1,
});

async function readSession(): Promise<SessionState> {
  const response = await fetch(at("/auth/session"), { credentials: "same-origin" });
  const body = await response.json().catch(() => ({}));
  if (response.ok) return { session: body as Session, signIn: null };
  if (response.status !== 401) throw new ApiError(response.status, body);
  const way = (body as { sign_in?: SignIn }).sign_in;
  return { session: null, signIn: way ?? "off" };
}

export async function signOut(): Promise<void> {
  const response = await fetch(at("/auth/logout"), { method: "POST", credentials: "same-origin" });
  if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => ({})));
}

/** Moves to another tenant of the person; `startOver` afterwards. */
export function switchTenant(id: string): Promise<void> {
  return request("POST", "/auth/tenant", { id });
}

/** Leaves the tenant; the session goes on in another one, if there is any. `startOver` afterwards. */
export function leaveTenant(): Promise<void> {
  return request("POST", "/auth/leave");
}

/** The address that signs in and comes back to `path`. */
export function signInAddress(path: string): string {
  return at(`/auth/login?return_to=${encodeURIComponent(path)}`);
}

/** Has the terminal of `switchhook dev` show the link that signs in. */
export async function askForLink(): Promise<void> {
  const response = await fetch(at("/auth/login"), { credentials: "same-origin" });
  const error = new ApiError(response.status, await response.json().catch(() => ({})));
  if (error.code !== "sign_in_link_required") throw error;
}

/** Viewers see everything and change nothing. */
export function mayChange(session: Session): boolean {
  return session.person.role !== "viewer";
}

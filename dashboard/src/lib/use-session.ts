import { useOutletContext } from "react-router";
import type { Session } from "../api/session";

/** Returns the session of the signed-in person. */
export function useSession(): Session {
  return useOutletContext<Session>();
}

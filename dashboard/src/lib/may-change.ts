import { mayChange } from "../api/session";
import { useSession } from "../Root";

/** Whether the person may change things; viewers see the pages without their buttons. */
export function useMayChange(): boolean {
  return mayChange(useSession());
}

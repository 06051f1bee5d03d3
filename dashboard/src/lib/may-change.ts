import { mayChange } from "../api/session";
import { useSession } from "./use-session";

/** Whether the person may change things; viewers see the pages without their buttons. */
export function useMayChange(): boolean {
  return mayChange(useSession());
}

/** Whether the person may change people and API keys. */
export function useIsOwner(): boolean {
  const { role } = useSession().person;
  return role === undefined || role === "owner";
}

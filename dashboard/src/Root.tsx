import { useQuery } from "@tanstack/react-query";
import { Outlet, useMatch, useOutletContext } from "react-router";
import { sessionQuery, type Session } from "./api/session";
import { Shell } from "./components/Shell";
import { ServiceDown } from "./pages/MissingPage";
import { SignInPage } from "./pages/sign-in/SignInPage";

/** The pages for whoever is signed in, the sign-in for anybody else. */
export function Root() {
  const session = useQuery(sessionQuery);
  const isInvitation = useMatch("/invitation") !== null;
  if (session.data === undefined) {
    return session.error ? <ServiceDown error={session.error} retry={session.refetch} /> : null;
  }
  if (session.data.session === null) return <SignInPage way={session.data.signIn} />;
  // Whoever answers an invitation is not at work in a tenant.
  if (isInvitation) return <Outlet context={session.data.session} />;
  return <Shell session={session.data.session} />;
}

/** Who looks at the page. */
export function useSession(): Session {
  return useOutletContext<Session>();
}

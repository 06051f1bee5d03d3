import { useQuery } from "@tanstack/react-query";
import { Outlet, useMatch } from "react-router";
import { sessionQuery } from "./api/session";
import { Shell } from "./components/Shell";
import { ServiceDown } from "./pages/MissingPage";
import { SignInPage } from "./pages/sign-in/SignInPage";

/** The pages for a signed-in person; otherwise the sign-in page. */
export function Root() {
  const session = useQuery(sessionQuery);
  const isInvitation = useMatch("/invitation") !== null;
  if (session.data === undefined) {
    return session.error ? <ServiceDown error={session.error} retry={session.refetch} /> : null;
  }
  if (session.data.session === null) return <SignInPage way={session.data.signIn} />;
  // An invitation is answered outside any tenant.
  if (isInvitation) return <Outlet context={session.data.session} />;
  return <Shell session={session.data.session} />;
}

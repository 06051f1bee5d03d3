import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useLocation } from "react-router";
import { askForLink, sessionQuery, signInAddress, type SignIn } from "../../api/session";
import { Button } from "../../components/Button";
import { ErrorNotice } from "../../components/ErrorNotice";
import { Logo } from "../../components/Logo";
import styles from "./SignInPage.module.css";
import { at } from "../../lib/base";

/** Stands at any address while nobody is signed in; signing in comes back to it. */
export function SignInPage({ way }: { way: SignIn }) {
  useEffect(() => {
    document.title = "Sign in · Switchhook";
  }, []);
  return (
    <main className={styles.page}>
      <div className={styles.box}>
        <Logo />
        {way === "off" && <TurnOn />}
        {way === "oidc" && <AtProvider />}
        {way === "local" && <ByLink />}
        <p className={styles.docs}>
          <a href={at("/docs")}>API reference</a>
        </p>
      </div>
    </main>
  );
}

function AtProvider() {
  const { pathname, search } = useLocation();
  return (
    <>
      <h1>Sign in to Switchhook</h1>
      <p className={styles.text}>You continue at your organisation’s identity provider and come back here.</p>
      <Button variant="primary" onClick={() => window.location.assign(signInAddress(pathname + search))}>
        Sign in
      </Button>
    </>
  );
}

/** Whoever reads the terminal may sign in. The link opens in another tab, and this one goes on. */
function ByLink() {
  const ask = useMutation({ mutationFn: askForLink });
  useQuery({ ...sessionQuery, refetchInterval: ask.isSuccess ? 1000 : false });
  return (
    <>
      <h1>Sign in to Switchhook</h1>
      <p className={styles.text}>
        This service runs on your machine. The terminal of <code>switchhook dev</code> shows a link that signs you in,
        once. Press for a new one.
      </p>
      <Button variant="primary" busy={ask.isPending} onClick={() => ask.mutate()}>
        Sign in
      </Button>
      <p className={styles.text} role="status">
        {ask.isSuccess && "The link is in the terminal: open it in this browser. This page goes on by itself."}
      </p>
      {ask.error && <ErrorNotice error={ask.error} />}
    </>
  );
}

function TurnOn() {
  return (
    <>
      <h1>The dashboard is off</h1>
      <p className={styles.text}>
        The API works as before. To turn the dashboard on, give the service an OpenID Connect provider and start it
        again:
      </p>
      <pre className={styles.settings} tabIndex={0}>
        {[
          "SWITCHHOOK_OIDC_ISSUER=https://login.example.com",
          "SWITCHHOOK_OIDC_CLIENT_ID=switchhook",
          "SWITCHHOOK_OIDC_CLIENT_SECRET=…",
        ].join("\n")}
      </pre>
      <p className={styles.text}>
        Register <code>{window.location.origin + at("/auth/callback")}</code> as its redirect address.
      </p>
    </>
  );
}

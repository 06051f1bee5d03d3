import { useEffect } from "react";
import { useLocation } from "react-router";
import { signInAddress, type SignIn } from "../../api/session";
import { Button } from "../../components/Button";
import { Logo } from "../../components/Logo";
import styles from "./SignInPage.module.css";

/** Stands at any address while nobody is signed in; signing in comes back to it. */
export function SignInPage({ way }: { way: SignIn }) {
  const { pathname, search } = useLocation();
  useEffect(() => {
    document.title = "Sign in · Switchhook";
  }, []);
  return (
    <main className={styles.page}>
      <div className={styles.box}>
        <Logo />
        {way === "off" ? <TurnOn /> : <Enter way={way} returnTo={pathname + search} />}
        <p className={styles.docs}>
          <a href="/docs">API reference</a>
        </p>
      </div>
    </main>
  );
}

function Enter({ way, returnTo }: { way: SignIn; returnTo: string }) {
  return (
    <>
      <h1>Sign in to Switchhook</h1>
      <p className={styles.text}>
        {way === "local"
          ? "This service runs on your machine. One press signs you in; nothing leaves it."
          : "You continue at your organisation’s identity provider and come back here."}
      </p>
      <Button variant="primary" onClick={() => window.location.assign(signInAddress(returnTo))}>
        Sign in
      </Button>
    </>
  );
}

function TurnOn() {
  return (
    <>
      <h1>The dashboard is off</h1>
      <p className={styles.text}>
        The API works as before. To turn the dashboard on, give the service an OpenID Connect
        provider and start it again:
      </p>
      <pre className={styles.settings} tabIndex={0}>
        {[
          "SWITCHHOOK_OIDC_ISSUER=https://login.example.com",
          "SWITCHHOOK_OIDC_CLIENT_ID=switchhook",
          "SWITCHHOOK_OIDC_CLIENT_SECRET=…",
        ].join("\n")}
      </pre>
      <p className={styles.text}>
        Register <code>{`${window.location.origin}/auth/callback`}</code> as its redirect address.
      </p>
    </>
  );
}

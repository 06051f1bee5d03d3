import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { useLocation } from "react-router";
import { request } from "../../api/client";
import { ApiError, asApiError } from "../../api/errors";
import { signOut, type Role } from "../../api/session";
import { startOver } from "../../api/start-over";
import { Button } from "../../components/Button";
import { ErrorText } from "../../components/ErrorNotice";
import { Logo } from "../../components/Logo";
import { RelativeTime } from "../../components/RelativeTime";
import { useSession } from "../../lib/use-session";
import { ROLES } from "../settings/roles";
import styles from "../sign-in/SignInPage.module.css";
import { forgetToken, keepToken, keptToken } from "./token";
import { at } from "../../lib/base";

type Invitation = {
  tenant: { name: string };
  role: Role;
  email: string;
  /** `null` if a program made it, or somebody who is gone. */
  invited_by: { name: string | null; email: string | null } | null;
  expires_at: string;
};

/** What the service will never answer otherwise: the token is of no use any more. */
const FINAL = ["invitation_ended", "already_member"];

/** Asks whether to join a tenant. The token came with the link, behind the # of this page's address. */
export function Component() {
  const { hash } = useLocation();
  const [token] = useState(keptToken);
  useEffect(() => {
    document.title = "Invitation · Switchhook";
  }, []);
  // Another link, opened in the same tab, loads no page.
  useEffect(() => {
    if (hash === "") return;
    keepToken();
    window.location.reload();
  }, [hash]);
  return (
    <main className={styles.page}>
      <div className={styles.box}>
        <Logo />
        {token === null ? (
          <Said title="No invitation here">Open the link that you were sent again.</Said>
        ) : (
          <Asked token={token} />
        )}
      </div>
    </main>
  );
}

function Asked({ token }: { token: string }) {
  const invitation = useQuery({
    queryKey: ["invitation"],
    queryFn: () => request<Invitation>("POST", "/auth/invitation", { token }),
    retry: false,
    staleTime: Infinity,
  });
  if (invitation.isPending) return <h1>Invitation</h1>;
  if (invitation.isError) return <Refused error={asApiError(invitation.error)} />;
  return <Question token={token} invitation={invitation.data} />;
}

function Question({ token, invitation }: { token: string; invitation: Invitation }) {
  const answer = useMutation({
    mutationFn: (word: "accept" | "decline") => request("POST", `/auth/invitation/${word}`, { token }),
    onSuccess: (_, word) => {
      forgetToken();
      if (word === "accept") startOver();
    },
  });
  if (answer.isError) return <Refused error={asApiError(answer.error)} />;
  if (answer.isSuccess && answer.variables === "decline") {
    return <Said title="Declined">The link no longer works. Nothing else has changed.</Said>;
  }
  const sent = answer.isIdle ? null : answer.variables;
  const { tenant, role, email, expires_at } = invitation;
  const { title, may } = ROLES.find((each) => each.role === role) ?? { title: role, may: "" };
  return (
    <>
      <h1>Join {tenant.name}?</h1>
      <p className={styles.text}>
        {inviter(invitation)} invites {email} to the tenant <strong>{tenant.name}</strong>, as: <strong>{title}</strong>
        . {may}
      </p>
      <p className={styles.text}>
        Its people then see your name and this address. What you store there, such as keys of providers, is the tenant’s
        to use. Accept only if you know who invites you. Your other tenants stay as they are.
      </p>
      <p className={styles.docs}>
        The invitation ends <RelativeTime at={expires_at} />.
      </p>
      <Button
        variant="primary"
        busy={sent === "accept"}
        disabled={sent === "decline"}
        onClick={() => answer.mutate("accept")}
      >
        Accept
      </Button>
      <Button busy={sent === "decline"} disabled={sent === "accept"} onClick={() => answer.mutate("decline")}>
        Decline
      </Button>
    </>
  );
}

/** Who invites: names are not verified, addresses are. */
function inviter({ invited_by, tenant }: Invitation): string {
  if (invited_by === null) return `A program of ${tenant.name}`;
  const { name, email } = invited_by;
  if (name !== null && email !== null && name !== email) return `${name} (${email})`;
  return email ?? `${name} (without a verified address)`;
}

function Refused({ error }: { error: ApiError }) {
  const { person } = useSession();
  useEffect(() => {
    if (FINAL.includes(error.code)) forgetToken();
  }, [error.code]);
  // The token stays: the next person of this tab may be the invited one.
  const change = useMutation({ mutationFn: signOut, onSuccess: () => window.location.reload() });
  if (error.code === "invitation_for_another") {
    return (
      <>
        <h1>For another address</h1>
        <p className={styles.text}>{error.detail}</p>
        <p className={styles.docs}>You are signed in as {person.email ?? person.name}.</p>
        <Button variant="primary" busy={change.isPending} onClick={() => change.mutate()}>
          Sign in as somebody else
        </Button>
        <Button onClick={() => window.location.assign(at("/"))}>Open the dashboard</Button>
      </>
    );
  }
  if (FINAL.includes(error.code)) return <Said title="Not valid">{error.detail}</Said>;
  return (
    <>
      <h1>Invitation</h1>
      <ErrorText error={error} />
      <Button onClick={() => window.location.reload()}>Try again</Button>
    </>
  );
}

/** The end of the matter. */
function Said({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <h1>{title}</h1>
      <p className={styles.text}>{children}</p>
      <Button variant="primary" onClick={() => window.location.assign(at("/"))}>
        Open the dashboard
      </Button>
    </>
  );
}

import { Compass } from "lucide-react";
import { useEffect } from "react";
import { useRouteError } from "react-router";
import { Button, ButtonLink } from "../components/Button";
import { Card } from "../components/Card";
import { EmptyState } from "../components/EmptyState";
import { ErrorNotice } from "../components/ErrorNotice";
import { PageHeader } from "../components/PageHeader";

export function MissingPage() {
  return (
    <>
      <PageHeader title="Not found" />
      <Card>
        <EmptyState icon={<Compass />} action={<ButtonLink to="/">Overview</ButtonLink>}>
          No such page here.
        </EmptyState>
      </Card>
    </>
  );
}

/** A page that threw, or whose file is gone because a newer one is served. */
export function BrokenPage() {
  const error = useRouteError();
  return (
    <main style={{ maxWidth: 520, margin: "20vh auto", padding: 16 }}>
      <Card title={<>This page failed</>}>
        <ErrorNotice error={error} />
        <Button onClick={() => window.location.reload()}>Load again</Button>
      </Card>
    </main>
  );
}

const AGAIN_MS = 5000;

export function ServiceDown({ error, retry }: { error: unknown; retry: () => unknown }) {
  useEffect(() => {
    const timer = setInterval(retry, AGAIN_MS);
    return () => clearInterval(timer);
  }, [retry]);
  return (
    <main style={{ maxWidth: 520, margin: "20vh auto", padding: 16 }}>
      <h1 className="visually-hidden">Switchhook</h1>
      <Card>
        <ErrorNotice error={error} retry={() => void retry()} />
      </Card>
    </main>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Check, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { anyCallQuery, type CallFilter } from "../../api/calls";
import { agentsQuery, apiKeysQuery, connectionsQuery } from "../../api/queries";
import { Button, ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { PlaceCallButton } from "../calls/PlaceCall";
import styles from "./OverviewPage.module.css";

type Step = { title: string; text: string; done: boolean; action: ReactNode };

const dismissKey = (tenant: string) => `first-steps-dismissed-${tenant}`;

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** The path of whoever is new here, ticked from what exists; gone when walked or dismissed. */
export function FirstSteps({ tenant }: { tenant: string }) {
  const [dismissed, setDismissed] = useState(() => read(dismissKey(tenant)) !== null);
  const steps = useSteps();
  if (dismissed || steps === null || steps.every((step) => step.done)) return null;
  const dismiss = () => {
    setDismissed(true);
    try {
      localStorage.setItem(dismissKey(tenant), "1");
    } catch {
      // Storage is refused: dismissed for this visit.
    }
  };
  return (
    <Card
      title="First steps"
      note={`${steps.filter((step) => step.done).length} of ${steps.length}`}
      flush
      action={<Button variant="ghost" size="small" icon={<X />} aria-label="Dismiss first steps" onClick={dismiss} />}
    >
      <ol className={styles.steps}>
        {steps.map((step, index) => (
          <li key={step.title} className={`${styles.step} ${step.done ? styles.done : ""}`}>
            <span className={styles.stepHead}>
              <span className={styles.number} aria-hidden="true">
                {step.done ? <Check /> : index + 1}
              </span>
              {step.title}
              {step.done && <span className="visually-hidden">, done</span>}
            </span>
            <p>{step.text}</p>
            {step.done ? <span /> : step.action}
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** `null` while it is not known what is done. */
function useSteps(): Step[] | null {
  const agents = useQuery(agentsQuery);
  const connections = useQuery(connectionsQuery);
  const keys = useQuery(apiKeysQuery);
  const talked = useQuery(anyCallQuery({ direction: ["web"] } as unknown as CallFilter));
  const placed = useQuery(anyCallQuery({ direction: ["outbound"] }));
  if (!agents.data || !connections.data || !keys.data || placed.data === undefined) return null;
  // An older service does not know calls from the browser.
  if (talked.data === undefined && !talked.error) return null;
  const agent = agents.data[0];
  return [
    {
      title: "Make an agent",
      text: "Start from a template and say what it does.",
      done: agent !== undefined,
      action: (
        <ButtonLink to="/agents" size="small">
          New agent
        </ButtonLink>
      ),
    },
    {
      title: "Talk to it",
      text: "In this browser, with your microphone.",
      done: talked.data ?? false,
      action: (
        <ButtonLink to={agent ? `/agents/${agent.id}?talk=1` : "/agents"} size="small">
          Open Talk
        </ButtonLink>
      ),
    },
    {
      title: "Connect a carrier",
      text: "Your own account, so that it can use the phone.",
      done: connections.data.some((one) => one.kinds.includes("carrier") && one.provider !== "simulator"),
      action: (
        <ButtonLink to="/connections/new" size="small">
          Connect
        </ButtonLink>
      ),
    },
    {
      title: "Place a call",
      text: "To your phone, or to a simulated one.",
      done: placed.data,
      action: <PlaceCallButton size="small" />,
    },
    {
      title: "Make a key",
      text: "Programs use it to place calls.",
      done: keys.data.some((key) => key.revoked_at === null),
      action: (
        <ButtonLink to="/api-keys?new=1" size="small">
          Make a key
        </ButtonLink>
      ),
    },
  ];
}

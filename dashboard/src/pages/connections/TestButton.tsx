import { useMutation } from "@tanstack/react-query";
import { Check, CircleAlert, PlugZap } from "lucide-react";
import { client, take } from "../../api/client";
import { asApiError } from "../../api/errors";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { milliseconds } from "../../lib/format";
import styles from "./TestButton.module.css";

type TestButtonProps = {
  id: string;
  /** In a row of a list: the result is one word. */
  compact?: boolean;
};

/** Tries the credentials for real, and shows what came of it beside the button. */
export function TestButton({ id, compact }: TestButtonProps) {
  const test = useMutation({
    mutationFn: () => take(client.POST("/v1/connections/{id}/test", { params: { path: { id } } })),
  });
  const button = (
    <Button size={compact ? "small" : "normal"} icon={<PlugZap />} busy={test.isPending} onClick={() => test.mutate()}>
      Test
    </Button>
  );
  if (compact) {
    return (
      <span className={styles.compact}>
        <span role="status">
          {test.data && <Badge tone={test.data.ok ? "good" : "bad"}>{test.data.ok ? "Works" : "Fails"}</Badge>}
          {test.isError && <Badge tone="bad">Not tested</Badge>}
        </span>
        {button}
      </span>
    );
  }
  return (
    <div className={styles.full}>
      {button}
      <div role="status">
        {test.isError && <p className={styles.error}>{asApiError(test.error).detail}</p>}
        {test.data && (
          <ul className={styles.checks}>
            {test.data.checks.map((check) => (
              <li key={check.name} className={styles.check}>
                {check.ok ? (
                  <Check className={styles.ok} aria-label="Passed" />
                ) : (
                  <CircleAlert className={styles.bad} aria-label="Failed" />
                )}
                <span>
                  {check.detail} <span className="muted numbers">{milliseconds(check.duration_ms)}</span>
                </span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

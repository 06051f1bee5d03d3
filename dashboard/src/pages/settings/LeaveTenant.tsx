import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { Tenant } from "../../api/queries";
import { leaveTenant } from "../../api/session";
import { startOver } from "../../api/start-over";
import { Button } from "../../components/Button";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { useSession } from "../../lib/use-session";

/** The button with which a person leaves the tenant. The service refuses its last owner. */
export function LeaveTenant({ tenant }: { tenant: Tenant }) {
  const { tenants } = useSession();
  const [isAsking, setAsking] = useState(false);
  const leave = useMutation({ mutationFn: leaveTenant, onSuccess: startOver });
  return (
    <>
      <Button size="small" onClick={() => setAsking(true)}>
        Leave tenant
      </Button>
      <ConfirmDialog
        open={isAsking}
        title={`Leave ${tenant.name}?`}
        confirm="Leave"
        busy={leave.isPending}
        error={leave.error}
        onConfirm={() => leave.mutate()}
        onClose={() => setAsking(false)}
      >
        You lose access at once, and come back only by an invitation. API keys that you made keep working.
        {tenants.length < 2 && " It is your only tenant: you are signed out, and your next sign-in makes a new one."}
      </ConfirmDialog>
    </>
  );
}

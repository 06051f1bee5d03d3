import { useMutation } from "@tanstack/react-query";
import { asApiError } from "../api/errors";
import { switchTenant, type Session } from "../api/session";
import { startOver } from "../api/start-over";
import styles from "./TenantSwitch.module.css";

/** Whoever belongs to several tenants chooses here in which one they are. */
export function TenantSwitch({ session }: { session: Session }) {
  const change = useMutation({ mutationFn: switchTenant, onSuccess: startOver });
  const { tenant, tenants } = session;
  if (tenants.length < 2) return null;
  return (
    <div className={styles.box}>
      <span className={styles.select}>
        <select
          aria-label="Tenant"
          value={change.isPending ? change.variables : tenant.id}
          onChange={(event) => change.mutate(event.target.value)}
        >
          {tenants.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </span>
      {change.isError && (
        <p role="alert" className={styles.error}>
          {asApiError(change.error).detail}
        </p>
      )}
    </div>
  );
}

import { useMutation } from "@tanstack/react-query";
import { switchTenant, type Session } from "../api/session";
import { startOver } from "../api/start-over";
import { InstantSelect } from "./InstantSelect";
import styles from "./TenantSwitch.module.css";

/** Whoever belongs to several tenants chooses here in which one they are. */
export function TenantSwitch({ session }: { session: Session }) {
  const change = useMutation({ mutationFn: switchTenant, onSuccess: startOver });
  const { tenant, tenants } = session;
  if (tenants.length < 2) return null;
  const options = tenants.map(({ id, name }) => ({ value: id, title: name }));
  return (
    <div className={styles.box}>
      <InstantSelect wide label="Tenant" value={tenant.id} options={options} change={change} />
    </div>
  );
}

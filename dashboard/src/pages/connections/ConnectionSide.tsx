import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ExternalLink, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { client, take } from "../../api/client";
import { agentsQuery, numbersQuery, type Connection } from "../../api/queries";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { phone } from "../../lib/format";
import { useMayChange } from "../../lib/may-change";
import rows from "../../components/rows.module.css";
import type { ProviderInfo } from "./providers";
import { TestButton } from "./TestButton";
import { usersOf } from "./usage";
import styles from "./ConnectionSide.module.css";

/** Beside the form: where to find the credentials, the test, who uses it. */
export function ConnectionSide({ provider, connection }: { provider: ProviderInfo; connection?: Connection }) {
  const mayChange = useMayChange();
  return (
    <div className={rows.stack}>
      {connection && mayChange && (
        <Card title="Test">
          <TestButton id={connection.id} />
        </Card>
      )}
      <Card title="Where to find it">
        <p className={styles.where}>{provider.where}</p>
        {provider.link && (
          <a className={styles.external} href={provider.link} target="_blank" rel="noreferrer">
            Open {provider.title} <ExternalLink aria-hidden="true" />
          </a>
        )}
      </Card>
      {connection && <UsedBy connection={connection} />}
      {connection && mayChange && <DeleteConnection connection={connection} />}
    </div>
  );
}

function UsedBy({ connection }: { connection: Connection }) {
  const agents = useQuery(agentsQuery);
  const numbers = useQuery(numbersQuery);
  const users = usersOf(connection.id, agents.data ?? [], numbers.data ?? []);
  return (
    <Card title="Used by">
      {users.length === 0 ? (
        <p className="muted">
          {connection.kind === "carrier"
            ? "No number yet. Add one to place calls."
            : "No agent yet. Choose it in an agent."}
        </p>
      ) : (
        <ul className={styles.users}>
          {users.map((user) => (
            <li key={user.id}>
              <Link to={user.type === "agent" ? `/agents/${user.id}` : `/numbers?number=${user.id}`}>
                {user.type === "agent" ? user.name : phone(user.name)}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function DeleteConnection({ connection }: { connection: Connection }) {
  const [isAsking, setAsking] = useState(false);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => take(client.DELETE("/v1/connections/{id}", { params: { path: { id: connection.id } } })),
    onSuccess: () => {
      queryClient.removeQueries({ queryKey: ["connections", connection.id] });
      void queryClient.invalidateQueries({ queryKey: ["connections"], exact: true });
      void navigate("/connections");
    },
  });
  return (
    <div>
      <Button variant="ghost" icon={<Trash2 />} onClick={() => setAsking(true)}>
        Delete connection
      </Button>
      <ConfirmDialog
        open={isAsking}
        title={`Delete “${connection.name}”?`}
        confirm="Delete"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={() => setAsking(false)}
      >
        Its credentials are erased. A connection that an agent or number uses cannot be deleted.
      </ConfirmDialog>
    </div>
  );
}

import { queryOptions, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearchParams } from "react-router";
import { client, take } from "../../api/client";
import { isMissing } from "../../api/errors";
import { Card } from "../../components/Card";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";
import { SkeletonRows } from "../../components/Skeleton";
import { useMayChange } from "../../lib/may-change";
import { ConnectionForm } from "./ConnectionForm";
import { ConnectionSide } from "./ConnectionSide";
import { providerInfo, PROVIDERS } from "./providers";
import { ProviderPicker } from "./ProviderPicker";
import styles from "./ConnectionPage.module.css";

const PARENT = { title: "Connections", to: "/connections" };

const connectionQuery = (id: string) =>
  queryOptions({
    queryKey: ["connections", id],
    queryFn: ({ signal }) => take(client.GET("/v1/connections/{id}", { params: { path: { id } }, signal })),
  });

/** One connection, or a new one at `/connections/new`. */
export function Component() {
  const { id = "" } = useParams();
  return id === "new" ? <NewConnection /> : <ExistingConnection key={id} id={id} />;
}

function NewConnection() {
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const provider = PROVIDERS.find((candidate) => candidate.name === search.get("provider"));
  if (!provider) {
    return (
      <>
        <PageHeader title="New connection" parent={PARENT} meta="Choose a carrier or provider." />
        <ProviderPicker />
      </>
    );
  }
  return (
    <>
      <PageHeader title={`Connect ${provider.title}`} parent={PARENT} meta={provider.summary} />
      <div className={styles.columns}>
        <Card>
          <ConnectionForm
            provider={provider}
            onSaved={(connection) => void navigate(`/connections/${connection.id}`, { replace: true })}
          />
        </Card>
        <ConnectionSide provider={provider} />
      </div>
    </>
  );
}

function ExistingConnection({ id }: { id: string }) {
  const connection = useQuery(connectionQuery(id));
  const mayChange = useMayChange();
  if (connection.isPending) {
    return (
      <Card flush>
        <SkeletonRows rows={4} height={64} />
      </Card>
    );
  }
  if (connection.isError) {
    return (
      <>
        <PageHeader title="Connection" parent={PARENT} />
        <Card flush>
          {isMissing(connection.error) ? (
            <EmptyState>No such connection here.</EmptyState>
          ) : (
            <ErrorNotice error={connection.error} retry={() => void connection.refetch()} />
          )}
        </Card>
      </>
    );
  }
  const provider = providerInfo(connection.data.provider);
  return (
    <>
      <PageHeader title={connection.data.name} parent={PARENT} meta={provider.title} />
      <div className={styles.columns}>
        <Card title="Credentials and settings">
          <ConnectionForm
            key={connection.data.updated_at}
            provider={provider}
            connection={connection.data}
            disabled={!mayChange}
          />
        </Card>
        <ConnectionSide provider={provider} connection={connection.data} />
      </div>
    </>
  );
}

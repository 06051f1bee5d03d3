import { useQuery } from "@tanstack/react-query";
import { Plug, Plus } from "lucide-react";
import { Link } from "react-router";
import { agentsQuery, connectionsQuery, numbersQuery, type Connection } from "../../api/queries";
import { ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";
import { RelativeTime } from "../../components/RelativeTime";
import rows from "../../components/rows.module.css";
import { SkeletonRows } from "../../components/Skeleton";
import { Row, Table, Td, Th } from "../../components/Table";
import { plural } from "../../lib/format";
import { useMayChange } from "../../lib/may-change";
import { kindWords, providerInfo } from "./providers";
import { ProviderMark } from "./ProviderMark";
import { TestButton } from "./TestButton";
import { usersOf } from "./usage";

export function Component() {
  const connections = useQuery(connectionsQuery);
  const mayChange = useMayChange();
  const add = mayChange && (
    <ButtonLink variant="primary" icon={<Plus />} to="/connections/new">
      New connection
    </ButtonLink>
  );
  return (
    <>
      <PageHeader
        title="Connections"
        meta="Your accounts at phone carriers and at providers of speech and language models."
        actions={connections.data?.length ? add : undefined}
      />
      <Card flush>
        {connections.isPending ? (
          <SkeletonRows rows={4} height={57} />
        ) : connections.isError ? (
          <ErrorNotice error={connections.error} retry={() => void connections.refetch()} />
        ) : connections.data.length === 0 ? (
          <EmptyState icon={<Plug />} action={add}>
            No connections. Connect a carrier to place and answer phone calls; agents talk in the browser without one.
          </EmptyState>
        ) : (
          <ConnectionTable connections={connections.data} mayTest={mayChange} />
        )}
      </Card>
    </>
  );
}

function ConnectionTable({ connections, mayTest }: { connections: Connection[]; mayTest: boolean }) {
  const agents = useQuery(agentsQuery);
  const numbers = useQuery(numbersQuery);
  return (
    <Table label="Connections">
      <thead>
        <tr>
          <Th>Name</Th>
          <Th hide="phone">For</Th>
          <Th hide="tablet">Used by</Th>
          <Th hide="tablet">Changed</Th>
          {mayTest && (
            <Th end>
              <span className="visually-hidden">Test</span>
            </Th>
          )}
        </tr>
      </thead>
      <tbody>
        {connections.map((connection) => {
          const users = usersOf(connection.id, agents.data ?? [], numbers.data ?? []);
          const kinds = kindWords(connection.kinds);
          const used = users.length === 0 ? "Nothing yet" : userWords(users);
          return (
            <Row key={connection.id} link>
              <Td>
                <div className={rows.withMark}>
                  <ProviderMark provider={connection.provider} />
                  <div className={rows.name}>
                    <Link className={rows.title} to={`/connections/${connection.id}`}>
                      {connection.name}
                    </Link>
                    <span className={rows.sub}>{providerInfo(connection.provider).title}</span>
                    <span className={`${rows.sub} ${rows.onPhone}`}>{kinds}</span>
                  </div>
                </div>
              </Td>
              <Td hide="phone" muted>
                {kinds}
              </Td>
              <Td hide="tablet" muted>
                {used}
              </Td>
              <Td hide="tablet" muted>
                <RelativeTime at={connection.updated_at} />
              </Td>
              {mayTest && (
                <Td end>
                  <TestButton id={connection.id} compact />
                </Td>
              )}
            </Row>
          );
        })}
      </tbody>
    </Table>
  );
}

function userWords(users: { type: "agent" | "number" }[]): string {
  const agents = users.filter((user) => user.type === "agent").length;
  const numbers = users.length - agents;
  return [agents > 0 && plural(agents, "agent"), numbers > 0 && plural(numbers, "number")].filter(Boolean).join(", ");
}

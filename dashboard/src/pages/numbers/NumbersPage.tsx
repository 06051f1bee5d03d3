import { useQuery } from "@tanstack/react-query";
import { Hash, Plus } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";
import { agentsQuery, connectionsQuery, numbersQuery, type PhoneNumber } from "../../api/queries";
import { Badge } from "../../components/Badge";
import { Button, ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { Notice } from "../../components/Notice";
import { PageHeader } from "../../components/PageHeader";
import rows from "../../components/rows.module.css";
import { SkeletonRows } from "../../components/Skeleton";
import { Table, Td, Th } from "../../components/Table";
import { phone } from "../../lib/format";
import { useMayChange } from "../../lib/may-change";
import { useParameters } from "../../lib/use-parameters";
import { NumberDialog } from "./NumberDialog";

export function Component() {
  const numbers = useQuery(numbersQuery);
  const connections = useQuery(connectionsQuery);
  const mayChange = useMayChange();
  const [search, setParameters] = useParameters({ replace: true });
  const [warnings, setWarnings] = useState<string[]>([]);

  // The open dialog is in the address, so that other pages can lead to it.
  const chosen = search.get("number");
  const open = (id: string | null) => setParameters({ number: id });
  const hasCarrier = connections.data?.some((connection) => connection.kinds.includes("carrier")) ?? true;
  const add = mayChange && (
    <Button variant="primary" icon={<Plus />} onClick={() => open("new")}>
      Add number
    </Button>
  );
  const connect = mayChange && (
    <ButtonLink variant="primary" to="/connections/new">
      Connect a carrier
    </ButtonLink>
  );
  const edited = numbers.data?.find((number) => number.id === chosen);

  return (
    <>
      <PageHeader
        title="Numbers"
        meta="Calls to a number are answered by its agent; agents call from it."
        actions={numbers.data?.length ? add : undefined}
      />
      <div className={rows.stack}>
        {warnings.map((warning) => (
          <Notice key={warning} tone="warn">
            {warning}
          </Notice>
        ))}
        <Card flush>
          {numbers.isPending ? (
            <SkeletonRows rows={4} height={57} />
          ) : numbers.isError ? (
            <ErrorNotice error={numbers.error} retry={() => void numbers.refetch()} />
          ) : numbers.data.length === 0 ? (
            <EmptyState icon={<Hash />} action={hasCarrier ? add : connect}>
              {hasCarrier
                ? "No numbers. Add one that you have at your carrier."
                : "No numbers. Connect a carrier first, then add a number that you have there."}
            </EmptyState>
          ) : (
            <NumberTable numbers={numbers.data} mayChange={mayChange} onEdit={open} />
          )}
        </Card>
      </div>
      {mayChange && (chosen === "new" || edited) && (
        <NumberDialog key={chosen} number={edited} onWarnings={setWarnings} onClose={() => open(null)} />
      )}
    </>
  );
}

type NumberTableProps = { numbers: PhoneNumber[]; mayChange: boolean; onEdit: (id: string) => void };

function NumberTable({ numbers, mayChange, onEdit }: NumberTableProps) {
  const agents = useQuery(agentsQuery);
  const connections = useQuery(connectionsQuery);
  return (
    <Table label="Numbers">
      <thead>
        <tr>
          <Th>Number</Th>
          <Th hide="phone">Agent</Th>
          <Th hide="phone">Connection</Th>
          {mayChange && (
            <Th>
              <span className="visually-hidden">Actions</span>
            </Th>
          )}
        </tr>
      </thead>
      <tbody>
        {numbers.map((number) => {
          const agent = agents.data?.find(({ id }) => id === number.inbound_agent_id);
          const connection = connections.data?.find(({ id }) => id === number.connection_id);
          const answers = agent ? (
            <Link to={`/agents/${agent.id}`}>{agent.name}</Link>
          ) : number.inbound_agent_id ? (
            "–"
          ) : (
            <Badge tone="warn">No agent</Badge>
          );
          return (
            <tr key={number.id}>
              <Td>
                <div className={rows.name}>
                  <span className={rows.title}>{phone(number.number)}</span>
                  {number.label && <span className={rows.sub}>{number.label}</span>}
                  <span className={`${rows.sub} ${rows.onPhone}`}>
                    {agent?.name ?? (number.inbound_agent_id ? "–" : answers)} · {connection?.name ?? "–"}
                  </span>
                </div>
              </Td>
              <Td hide="phone">{answers}</Td>
              <Td hide="phone" muted>
                {connection?.name ?? "–"}
              </Td>
              {mayChange && (
                <Td end>
                  <Button size="small" onClick={() => onEdit(number.id)}>
                    Edit
                  </Button>
                </Td>
              )}
            </tr>
          );
        })}
      </tbody>
    </Table>
  );
}

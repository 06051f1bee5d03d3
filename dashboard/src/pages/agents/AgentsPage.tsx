import { useQuery } from "@tanstack/react-query";
import { Bot, Plus } from "lucide-react";
import { Link, useNavigate } from "react-router";
import { client, take } from "../../api/client";
import { agentsQuery, connectionsQuery, type Agent, type Connection } from "../../api/queries";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";
import { RelativeTime } from "../../components/RelativeTime";
import rows from "../../components/rows.module.css";
import { SkeletonRows } from "../../components/Skeleton";
import { Row, Table, Td, Th } from "../../components/Table";
import { milliseconds } from "../../lib/format";
import { useMayChange } from "../../lib/may-change";
import { providerInfo } from "../connections/providers";
import { TemplateCards } from "./TemplateCards";
import { trafficWords } from "./traffic";

export function Component() {
  const agents = useQuery(agentsQuery);
  const mayChange = useMayChange();
  const navigate = useNavigate();
  return (
    <>
      <PageHeader
        title="Agents"
        meta="An agent holds the conversation of a call."
        actions={
          mayChange && (
            <Button variant="primary" icon={<Plus />} onClick={() => void navigate("/agents/new")}>
              New agent
            </Button>
          )
        }
      />
      {agents.isPending ? (
        <Card flush>
          <SkeletonRows rows={4} height={57} />
        </Card>
      ) : agents.isError ? (
        <Card flush>
          <ErrorNotice error={agents.error} retry={() => void agents.refetch()} />
        </Card>
      ) : agents.data.length === 0 ? (
        <NoAgents mayChange={mayChange} />
      ) : (
        <Card flush>
          <AgentTable agents={agents.data} />
        </Card>
      )}
    </>
  );
}

function NoAgents({ mayChange }: { mayChange: boolean }) {
  return (
    <Card title="No agents" note={mayChange ? "Start from a template." : undefined}>
      {mayChange ? <TemplateCards /> : <p className="muted">An owner or member can make one.</p>}
    </Card>
  );
}

function AgentTable({ agents }: { agents: Agent[] }) {
  const connections = useQuery(connectionsQuery);
  // The response times of the last 30 days; without them the column has dashes.
  const usage = useQuery({
    queryKey: ["usage", "agents"],
    queryFn: ({ signal }) => take(client.GET("/v1/usage", { signal })),
    staleTime: 60_000,
    retry: false,
  });
  return (
    <Table label="Agents">
      <thead>
        <tr>
          <Th>Name</Th>
          <Th hide="phone">Model</Th>
          <Th hide="tablet">Voice</Th>
          <Th hide="phone" end>
            Response, p50
          </Th>
          <Th hide="phone" end>
            Changed
          </Th>
        </tr>
      </thead>
      <tbody>
        {agents.map((agent) => {
          const p50 = usage.data?.agents.find(({ agent_id }) => agent_id === agent.id)?.response_ms.p50;
          return (
            <Row key={agent.id} link>
              <Td>
                <div className={rows.withMark}>
                  <span className={rows.mark}>
                    <Bot aria-hidden="true" />
                  </span>
                  <div className={rows.name}>
                    <Link className={rows.title} to={`/agents/${agent.id}`}>
                      {agent.name}
                    </Link>
                    <span className={rows.sub}>
                      {[`Version ${agent.version}`, agent.language ?? "en-US", trafficWords(agent)]
                        .filter(Boolean)
                        .join(" · ")}
                    </span>
                    <span className={`${rows.sub} ${rows.onPhone}`}>
                      {modelOf(agent, connections.data)} · <RelativeTime at={agent.updated_at} />
                    </span>
                  </div>
                </div>
              </Td>
              <Td hide="phone" muted>
                {modelOf(agent, connections.data)}
              </Td>
              <Td hide="tablet" muted>
                {voiceOf(agent, connections.data)}
              </Td>
              <Td hide="phone" end muted>
                {p50 ? milliseconds(p50) : "–"}
              </Td>
              <Td hide="phone" end muted>
                <RelativeTime at={agent.updated_at} />
              </Td>
            </Row>
          );
        })}
      </tbody>
    </Table>
  );
}

function providerOf(id: string | null | undefined, connections: Connection[] | undefined): string | undefined {
  const connection = connections?.find((each) => each.id === id);
  return connection && providerInfo(connection.provider).title;
}

function modelOf(agent: Agent, connections: Connection[] | undefined): string {
  if (agent.realtime)
    return agent.realtime.model ?? `${providerOf(agent.realtime.connection_id, connections) ?? "–"}, speech to speech`;
  if (!agent.llm?.connection_id) return "Scripted dialogue";
  return agent.llm.model ?? providerOf(agent.llm.connection_id, connections) ?? "–";
}

function voiceOf(agent: Agent, connections: Connection[] | undefined): string {
  if (agent.realtime) return agent.realtime.voice ?? "The model’s";
  if (!agent.tts?.connection_id) return "On this machine";
  return providerOf(agent.tts.connection_id, connections) ?? "–";
}

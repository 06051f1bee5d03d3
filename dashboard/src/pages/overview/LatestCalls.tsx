import { useQuery } from "@tanstack/react-query";
import { PhoneCall } from "lucide-react";
import { Link } from "react-router";
import { isLive, latestCallsQuery } from "../../api/calls";
import { agentsQuery, type Agent, type Call } from "../../api/queries";
import { StatusBadge } from "../../components/Badge";
import { Card } from "../../components/Card";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { RelativeTime } from "../../components/RelativeTime";
import { SkeletonRows } from "../../components/Skeleton";
import { Row, Table, Td, Th } from "../../components/Table";
import { PlaceCallButton } from "../calls/PlaceCall";
import { agentName, DirectionIcon, Ended, Length, partyName, response } from "../calls/cells";
import styles from "./OverviewPage.module.css";

const SHOWN = 8;

/** The latest calls, live ones on top. */
export function LatestCalls() {
  const calls = useQuery(latestCallsQuery(SHOWN));
  const agents = useQuery(agentsQuery);
  const rows = [...(calls.data ?? [])].sort((a, b) => Number(isLive(b)) - Number(isLive(a)));
  return (
    <Card title="Latest calls" action={<Link to="/calls">All calls</Link>} flush>
      {calls.error && !calls.data ? (
        <ErrorNotice error={calls.error} retry={() => void calls.refetch()} />
      ) : !calls.data ? (
        <SkeletonRows rows={SHOWN} />
      ) : rows.length === 0 ? (
        <EmptyState icon={<PhoneCall />} action={<PlaceCallButton />}>
          No calls yet. Talk to an agent or place one.
        </EmptyState>
      ) : (
        <Table label="Latest calls">
          <thead>
            <tr>
              <Th>Status</Th>
              <Th>Number</Th>
              <Th hide="phone">Agent</Th>
              <Th hide="tablet">Ended</Th>
              <Th hide="phone" end>
                Length
              </Th>
              <Th hide="tablet" end>
                Turns
              </Th>
              <Th hide="phone" end>
                Response
              </Th>
              <Th end>When</Th>
            </tr>
          </thead>
          <tbody>
            {rows.map((call) => (
              <CallRow key={call.id} call={call} agents={agents.data} />
            ))}
          </tbody>
        </Table>
      )}
    </Card>
  );
}

function CallRow({ call, agents }: { call: Call; agents: Agent[] | undefined }) {
  return (
    <Row link>
      <Td>
        <StatusBadge status={call.status} />
      </Td>
      <Td>
        <Link to={`/calls/${call.id}`} className={styles.party}>
          <DirectionIcon call={call} />
          {partyName(call)}
        </Link>
      </Td>
      <Td hide="phone">{agentName(agents, call.agent_id)}</Td>
      <Td hide="tablet" muted>
        <Ended call={call} />
      </Td>
      <Td hide="phone" end>
        <Length call={call} />
      </Td>
      <Td hide="tablet" end>
        {call.turns > 0 ? call.turns : "–"}
      </Td>
      <Td hide="phone" end>
        {response(call)}
      </Td>
      <Td end muted>
        <span style={{ whiteSpace: "nowrap" }}>
          {isLive(call) ? "now" : <RelativeTime at={call.created_at} brief />}
        </span>
      </Td>
    </Row>
  );
}

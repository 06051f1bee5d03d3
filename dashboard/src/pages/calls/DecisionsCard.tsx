import { useQuery } from "@tanstack/react-query";
import { decisionsQuery } from "../../api/calls";
import type { Call } from "../../api/queries";
import type { Decision } from "../../api/types";
import { Badge } from "../../components/Badge";
import { Card } from "../../components/Card";
import { ErrorNotice } from "../../components/ErrorNotice";
import { Table, Td, Th } from "../../components/Table";
import styles from "./DecisionsCard.module.css";
import { chip, decidedAt, DECISIONS, probabilityWords, silenceWords } from "./decisions";

type DecisionsProps = { call: Call; onSeek: (seconds: number) => void };

/** Why the agent spoke when it did. For tuning turn-taking, so it is closed at first. */
export function DecisionsCard({ call, onSeek }: DecisionsProps) {
  const { data, error, refetch } = useQuery(decisionsQuery(call.id));
  if (error) {
    return (
      <Card title="Turn decisions">
        <ErrorNotice error={error} retry={() => void refetch()} />
      </Card>
    );
  }
  if (!data || data.length === 0) return null;
  return (
    <Card flush>
      <details>
        <summary className={styles.summary}>
          <h2>Turn decisions</h2>
          <span className="muted">{data.length}</span>
        </summary>
        <Table label="Turn decisions">
          <thead>
            <tr>
              <Th>Time</Th>
              <Th>Decision</Th>
              <Th end>Silence / needed</Th>
              <Th end>Probability</Th>
              <Th>Evidence</Th>
            </tr>
          </thead>
          <tbody>
            {data.map((decision, index) => (
              <DecisionRow key={index} decision={decision} onSeek={call.recording_url === null ? undefined : onSeek} />
            ))}
          </tbody>
        </Table>
      </details>
    </Card>
  );
}

function DecisionRow({ decision, onSeek }: { decision: Decision; onSeek?: (seconds: number) => void }) {
  const at = decidedAt(decision.at_ms);
  return (
    <tr className={onSeek && styles.row}>
      <Td>
        {onSeek ? (
          <button type="button" title="Go there in the recording" onClick={() => onSeek(decision.at_ms / 1000)}>
            {at}
          </button>
        ) : (
          at
        )}
      </Td>
      <Td>
        <span className={styles.line}>{DECISIONS[decision.kind]}</span>
      </Td>
      <Td end>
        <span className={styles.line}>{silenceWords(decision)}</span>
      </Td>
      <Td end>{probabilityWords(decision.probability)}</Td>
      <Td>
        <ul className={styles.evidence}>
          {decision.evidence.map((evidence) => (
            <li key={evidence.name}>
              <EvidenceChip {...chip(evidence)} />
            </li>
          ))}
        </ul>
      </Td>
    </tr>
  );
}

function EvidenceChip({ name, weight, tone }: ReturnType<typeof chip>) {
  return (
    <Badge tone={tone}>
      {name} {weight}
    </Badge>
  );
}

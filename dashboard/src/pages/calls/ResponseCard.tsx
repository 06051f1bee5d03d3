import type { FullTranscript } from "../../api/types";
import type { Call } from "../../api/queries";
import { LatencyWaterfall } from "../../charts/LatencyWaterfall";
import { Card } from "../../components/Card";
import { milliseconds } from "../../lib/format";
import { responseTimes } from "./cells";
import { turns } from "./turns";

type ResponseProps = {
  call: Call;
  transcript: FullTranscript | undefined;
  open: number | null;
  onOpen: (turn: number | null, at?: number) => void;
};

/** How long the caller waited for each answer, and for what. */
export function ResponseCard({ call, transcript, open, onOpen }: ResponseProps) {
  const rows = transcript ? turns(transcript) : [];
  if (rows.length === 0) return null;
  const { p50, p95 } = responseTimes(call);
  return (
    <Card
      title="Response time"
      action={
        p50 !== null && (
          <>
            <span>
              p50 <strong>{milliseconds(p50)}</strong>
            </span>
            {p95 !== null && (
              <span>
                p95 <strong>{milliseconds(p95)}</strong>
              </span>
            )}
          </>
        )
      }
    >
      <LatencyWaterfall
        turns={rows}
        open={open}
        onOpen={(turn) => {
          const row = turn === null ? undefined : rows[turn];
          onOpen(turn, row && row.at / 1000);
        }}
      />
    </Card>
  );
}

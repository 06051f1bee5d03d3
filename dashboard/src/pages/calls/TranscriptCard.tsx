import { Scissors, Wrench } from "lucide-react";
import type { FullTranscript, ToolCall } from "../../api/types";
import type { Call } from "../../api/queries";
import { Badge } from "../../components/Badge";
import { Card } from "../../components/Card";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { SkeletonRows } from "../../components/Skeleton";
import { duration, milliseconds, plural } from "../../lib/format";
import { writeJson } from "../../lib/json";
import styles from "./CallPage.module.css";
import { usePlayback } from "./playback";
import { entries, lineAt, type Entry } from "./turns";

const SLOW_MS = 800;

type TranscriptProps = {
  call: Call;
  agent: string;
  transcript: FullTranscript | undefined;
  error: unknown;
  retry: () => void;
  live: boolean;
  onSeek: (seconds: number) => void;
};

export function TranscriptCard(props: TranscriptProps) {
  const { call, transcript, live } = props;
  const interruptions = transcript?.data.filter((line) => line.interrupted).length ?? 0;
  return (
    <Card
      title="Transcript"
      flush
      action={
        transcript && (
          <>
            {call.turns > 0 && <span>{plural(call.turns, "turn")}</span>}
            {interruptions > 0 && <span>{plural(interruptions, "interruption")}</span>}
          </>
        )
      }
    >
      {!transcript ? (
        props.error ? (
          <ErrorNotice error={props.error} retry={props.retry} />
        ) : (
          <SkeletonRows />
        )
      ) : transcript.data.length === 0 && !live ? (
        <EmptyState>{call.answered_at ? "Nothing was said." : "Nobody answered."}</EmptyState>
      ) : (
        <div role="log" aria-label="Transcript" aria-live={live ? "polite" : "off"}>
          <Lines {...props} transcript={transcript} />
        </div>
      )}
    </Card>
  );
}

function Lines({ call, agent, transcript, onSeek }: TranscriptProps & { transcript: FullTranscript }) {
  const current = usePlayback((playback) => (playback.time > 0 ? lineAt(transcript, playback.time) : -1), -1);
  const plays = call.recording_url !== null;
  return (
    <ol className={styles.transcript}>
      {entries(transcript).map((entry) =>
        entry.kind === "tool" ? (
          <li key={`tool ${entry.tool.id}`}>
            <Tool tool={entry.tool} />
          </li>
        ) : (
          <li key={`${entry.at} ${entry.line.role}`}>
            <button
              type="button"
              className={styles.line}
              disabled={!plays}
              data-current={(current >= 0 && transcript.data[current] === entry.line) || undefined}
              onClick={() => onSeek(entry.at / 1000)}
            >
              <Line entry={entry} agent={agent} />
            </button>
          </li>
        ),
      )}
    </ol>
  );
}

function Line({ entry, agent }: { entry: Extract<Entry, { kind: "line" }>; agent: string }) {
  const { line, goesOn } = entry;
  const wait = line.latency_ms;
  return (
    <>
      <span className={styles.time}>{duration(line.start_ms / 1000)}</span>
      <span>
        {!goesOn && (
          <span className={styles.speaker} data-role={line.role}>
            {line.role === "agent" ? agent : "Caller"}
            {wait !== null && <span className={wait > SLOW_MS ? styles.slow : undefined}>{milliseconds(wait)}</span>}
          </span>
        )}
        <span className={styles.words}>
          {line.text}
          {line.interrupted && (
            <span className={styles.interrupted}>
              <Scissors aria-hidden="true" />
              interrupted
            </span>
          )}
        </span>
      </span>
    </>
  );
}

const TOOL_STATUS = {
  succeeded: { word: "Succeeded", tone: "good" },
  failed: { word: "Failed", tone: "bad" },
} as const;

function Tool({ tool }: { tool: ToolCall }) {
  const status = TOOL_STATUS[tool.status];
  return (
    <div className={styles.tool}>
      <div className={styles.toolHead}>
        <Wrench aria-hidden="true" />
        <code>{tool.name}</code>
        {tool.duration_ms !== null && <span>{milliseconds(tool.duration_ms)}</span>}
        <Badge tone={status.tone}>{status.word}</Badge>
      </div>
      <dl className={styles.toolBody}>
        <dt>Arguments</dt>
        <dd tabIndex={0}>
          <code>{json(tool.arguments)}</code>
        </dd>
        <dt>{tool.error === null ? "Result" : "Error"}</dt>
        <dd tabIndex={0}>
          <code>{tool.error ?? json(tool.result)}</code>
        </dd>
      </dl>
    </div>
  );
}

function json(value: unknown): string {
  return typeof value === "string" ? value : writeJson(value, 1).replace(/\n\s*/g, " ");
}

import { Pause, Play, VolumeX } from "lucide-react";
import { useContext, useEffect, useMemo } from "react";
import { isLive } from "../../api/calls";
import type { FullTranscript } from "../../api/types";
import type { Call } from "../../api/queries";
import { PhaseTimeline, type Phase } from "../../charts/PhaseTimeline";
import { Waveform, type Span } from "../../charts/Waveform";
import { Card } from "../../components/Card";
import { Skeleton } from "../../components/Skeleton";
import { shownValue } from "../../lib/json";
import { statusWords } from "../../lib/words";
import styles from "./CallPage.module.css";
import { PlaybackContext, usePlayback } from "./playback";
import { usePeaks } from "./recording";

type SummaryProps = {
  call: Call;
  transcript: FullTranscript | undefined;
  onSeek: (seconds: number) => void;
};

/** What came of the call, its phases, and its recording. */
export function CallSummary({ call, transcript, onSeek }: SummaryProps) {
  const facts = factsOf(call.outcome);
  return (
    <Card flush>
      <div className={styles.summary}>
        {call.summary && <p>{call.summary}</p>}
        {facts.length > 0 && (
          <dl className={styles.facts}>
            {facts.map(([name, value]) => (
              <div key={name}>
                <dt>{name.replaceAll("_", " ")}</dt>
                <dd>{fact(value)}</dd>
              </div>
            ))}
          </dl>
        )}
        <PhaseTimeline phases={phases(call)} />
      </div>
      {call.recording_url ? (
        <Player address={call.recording_url} transcript={transcript} onSeek={onSeek} />
      ) : (
        call.answered_at && (
          <p className={styles.note}>
            {isLive(call)
              ? "The call is live. Its recording stands here when it has ended."
              : "This call has no recording: its agent does not record, or the recording was deleted."}
          </p>
        )
      )}
    </Card>
  );
}

/** An outcome is what the agent's schema says: mostly an object, of which each field is a fact. */
function factsOf(outcome: unknown): [string, unknown][] {
  if (outcome === null || outcome === undefined) return [];
  if (typeof outcome !== "object" || Array.isArray(outcome)) return [["outcome", outcome]];
  return Object.entries(outcome);
}

function fact(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value === null || value === undefined || value === "") return "–";
  return shownValue(value);
}

function phases(call: Call): Phase[] {
  const starts: [string, string | null][] = [
    [call.direction === "inbound" ? "Received" : "Queued", call.created_at],
    ["Dialing", call.dialing_at],
    ["Ringing", call.ringing_at],
    ["In progress", call.answered_at],
    [statusWords(call.status).word, call.ended_at],
  ];
  const known = starts.filter((start): start is [string, string] => start[1] !== null);
  return known.map(([name, at], index) => {
    const next = known[index + 1];
    const start = new Date(at);
    const ended = at === call.ended_at && index === known.length - 1;
    return {
      name,
      start,
      ms: next ? new Date(next[1]).getTime() - start.getTime() : null,
      tone: ended ? (call.status === "failed" ? "bad" : "good") : name === "In progress" ? "talk" : "before",
    };
  });
}

function Player(props: { address: string; transcript: FullTranscript | undefined; onSeek: (seconds: number) => void }) {
  const playback = useContext(PlaybackContext);
  const { peaks, error } = usePeaks(props.address);
  const playing = usePlayback((one) => one.playing, false);
  const rate = usePlayback((one) => one.rate, 1);
  const muted = usePlayback((one) => one.muted, false);
  const position = useMemo(
    () => ({
      time: () => playback?.time ?? 0,
      follow: (listener: () => void) => playback?.follow(listener) ?? (() => undefined),
      seek: (seconds: number) => playback?.seek(seconds),
    }),
    [playback],
  );
  useEffect(() => {
    if (playback && peaks) playback.setLength(peaks.seconds);
  }, [playback, peaks]);
  if (error) return <p className={styles.note}>The recording could not be read.</p>;
  return (
    <div className={styles.player}>
      <div className={styles.controls}>
        <button
          type="button"
          className={styles.play}
          aria-label={playing ? "Pause" : "Play"}
          onClick={playback?.toggle}
        >
          {playing ? <Pause /> : <Play />}
        </button>
        <button
          type="button"
          className={styles.rate}
          aria-label={`Speed ${rate}`}
          title="Speed"
          onClick={playback?.nextRate}
        >
          {rate}×
        </button>
        {muted && (
          <button type="button" className={styles.rate} aria-label="Unmute" onClick={playback?.mute}>
            <VolumeX size={14} />
          </button>
        )}
      </div>
      <div className={styles.lanes} aria-hidden="true">
        <span>Caller</span>
        <span>Agent</span>
      </div>
      {peaks ? (
        <Waveform peaks={peaks} position={position} tools={toolSpans(props.transcript)} onSeek={props.onSeek} />
      ) : (
        <Skeleton height={112} />
      )}
    </div>
  );
}

function toolSpans(transcript: FullTranscript | undefined): Span[] {
  return (transcript?.tool_calls ?? []).flatMap((tool) =>
    tool.duration_ms === null ? [] : [{ from: tool.start_ms / 1000, to: (tool.start_ms + tool.duration_ms) / 1000 }],
  );
}

import { Grid3x3, Mic, MicOff, PhoneOff } from "lucide-react";
import { useEffect, useRef, useState, useSyncExternalStore, type ReactNode } from "react";
import { Link } from "react-router";
import { Badge } from "../components/Badge";
import { Button } from "../components/Button";
import { duration, milliseconds } from "../lib/format";
import type { Tone } from "../lib/words";
import { Keypad } from "./Keypad";
import { LastTurn } from "./LastTurn";
import { Meter } from "./Meter";
import { MicrophonePicker } from "./MicrophonePicker";
import { TalkSession, type TalkOptions } from "./session";
import { HINT_MS, isActive, medianLatency, remainingMs, type Phase, type TalkState } from "./talk-state";
import styles from "./TalkPanel.module.css";
import { TranscriptLog } from "./TranscriptLog";
import { endWords, hintWords, refusalWords } from "./words";
import { WORKLETS } from "./worklets";

type TalkPanelProps = Omit<TalkOptions, "worklets"> & {
  agentName: string;
  /** Below the button: what the call will use. */
  note?: ReactNode;
  /** Why talking is not possible now; the button is off. */
  obstacle?: string | null;
  /** The focus goes to the button: somebody came here to talk. */
  focused?: boolean;
};

const BADGES: Partial<Record<Phase, { word: string; tone: Tone }>> = {
  asking: { word: "Microphone", tone: "accent" },
  connecting: { word: "Connecting", tone: "accent" },
  live: { word: "Live", tone: "good" },
  reconnecting: { word: "Reconnecting", tone: "warn" },
  ended: { word: "Ended", tone: "neutral" },
};

/** A conversation with an agent, by the microphone of this machine. */
export function TalkPanel({ agentName, note, obstacle, focused, placeCall, refusal, hangUp }: TalkPanelProps) {
  const session = useTalkSession({ placeCall, refusal, hangUp });
  const state = useSyncExternalStore(session.subscribe, () => session.state);
  const badge = BADGES[state.phase];
  const talk = () => session.dispatch({ type: "talk" });
  const start = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (focused) start.current?.focus();
  }, [focused]);
  return (
    <section
      className={`${styles.panel} ${isActive(state) ? styles.live : ""}`}
      aria-label={`Talk to ${agentName}`}
      data-transport={state.transport}
    >
      <header className={styles.header}>
        <h2 className={styles.title}>Talk</h2>
        {badge && (
          <Badge tone={badge.tone} dot={state.phase === "live"}>
            {badge.word}
          </Badge>
        )}
        <Timer state={state} />
      </header>
      {isActive(state) && <Stage session={session} state={state} agentName={agentName} />}
      {state.phase === "idle" && (
        <div className={styles.idle}>
          <span className={styles.microphone}>
            <Mic aria-hidden="true" />
          </span>
          <p>Talk to {agentName} with your microphone. It is a call like any other.</p>
          <MicrophonePicker onChoose={(id) => (session.deviceId = id)} />
        </div>
      )}
      {state.phase === "refused" && state.refusal && (
        <p role="alert" className={styles.refused}>
          {refusalWords(state.refusal)}
        </p>
      )}
      <TranscriptLog lines={state.lines} agentName={agentName} />
      {state.phase === "ended" && <Ended state={state} />}
      {state.phase !== "ended" && state.latencies.length > 0 && <LastTurn latency={state.latencies.at(-1)} />}
      <footer className={styles.footer}>
        {isActive(state) ? (
          <Controls session={session} state={state} />
        ) : (
          <Button ref={start} variant="primary" icon={<Mic />} disabled={Boolean(obstacle)} onClick={talk}>
            {state.phase === "ended" ? "Talk again" : "Talk"}
          </Button>
        )}
        {(obstacle ?? note) && <p className={styles.note}>{obstacle ?? note}</p>}
      </footer>
    </section>
  );
}

function useTalkSession(options: Omit<TalkOptions, "worklets">): TalkSession {
  const [session] = useState(() => new TalkSession({ ...options, worklets: WORKLETS }));
  useEffect(() => session.configure({ ...options, worklets: WORKLETS }));
  useEffect(() => () => session.dispose(), [session]);
  return session;
}

/** The conversation's age, while it lasts; its length afterwards. */
function Timer({ state }: { state: TalkState }) {
  const [, redraw] = useState(0);
  const isRunning = isActive(state) && state.startedAt !== null;
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => redraw((count) => count + 1), 500);
    return () => clearInterval(timer);
  }, [isRunning]);
  if (state.startedAt === null) return null;
  const end = state.endedAt ?? Date.now();
  return (
    <span className={styles.timer} role="timer">
      {duration((end - state.startedAt) / 1000)}
    </span>
  );
}

type StageProps = { session: TalkSession; state: TalkState; agentName: string };

/** The meter of whoever speaks, and what happens at the moment. */
function Stage({ session, state, agentName }: StageProps) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const isSpeaking = session.levels.microphone > 0.45;
  const seconds = Math.ceil(remainingMs(state, now) / 1000);
  const isBlocked = state.phase === "asking" && now - state.since > HINT_MS;
  return (
    <div className={styles.stage}>
      <Meter session={session} state={state} />
      <p role="status">{hintWords(state, agentName, isSpeaking, seconds)}</p>
      {isBlocked && (
        <p className={styles.blocked}>
          No question? The browser may block the microphone: look at the left of the address bar.
        </p>
      )}
    </div>
  );
}

function Ended({ state }: { state: TalkState }) {
  const median = medianLatency(state.latencies);
  return (
    <div className={styles.ended} role="status">
      <p>{endWords(state.endReason)}</p>
      <p className="muted">
        {state.latencies.length > 0 && median !== null && <>Response time p50 {milliseconds(median)} · </>}
        {state.call?.id && <Link to={`/calls/${state.call.id}`}>Open call</Link>}
      </p>
    </div>
  );
}

function Controls({ session, state }: { session: TalkSession; state: TalkState }) {
  const [hasKeypad, setKeypad] = useState(false);
  const toggle = useRef<HTMLButtonElement>(null);
  if (state.phase === "asking" || state.phase === "connecting") {
    return <Button onClick={() => session.dispatch({ type: "end" })}>Cancel</Button>;
  }
  return (
    <>
      {hasKeypad && (
        <Keypad
          onPress={(digit) => session.dispatch({ type: "digit", digit })}
          onClose={() => {
            setKeypad(false);
            toggle.current?.focus();
          }}
        />
      )}
      <div className={styles.controls}>
        <MicrophoneButton session={session} state={state} />
        <Button
          ref={toggle}
          icon={<Grid3x3 />}
          aria-label="Keypad"
          aria-expanded={hasKeypad}
          onClick={() => setKeypad(!hasKeypad)}
        />
        <Button variant="danger" icon={<PhoneOff />} onClick={() => session.dispatch({ type: "end" })}>
          End call
        </Button>
      </div>
    </>
  );
}

function MicrophoneButton({ session, state }: { session: TalkSession; state: TalkState }) {
  const press = () => session.pressMicrophone();
  if (state.microphone !== "works") {
    return (
      <Button icon={<MicOff />} disabled={state.microphone === "lost"} onClick={press}>
        No microphone
      </Button>
    );
  }
  return (
    <Button
      icon={state.muted ? <MicOff /> : <Mic />}
      aria-label={state.muted ? "Unmute" : "Mute"}
      aria-pressed={state.muted}
      onClick={press}
    />
  );
}

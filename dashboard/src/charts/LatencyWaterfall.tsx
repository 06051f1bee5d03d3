import { duration, milliseconds } from "../lib/format";
import type { Stage, Turn } from "../pages/calls/turns";
import styles from "./LatencyWaterfall.module.css";

const SLOW_MS = 800;

const NAMES: Record<Stage, { short: string; long: string }> = {
  turn: { short: "End of turn", long: "Waited to be sure the caller had finished" },
  model: { short: "First token", long: "Language model, first token" },
  voice: { short: "First audio", long: "Voice, first audio" },
  play: { short: "Heard", long: "Sent and played" },
};
const ORDER: Stage[] = ["turn", "model", "voice", "play"];

type WaterfallProps = {
  turns: Turn[];
  /** The opened turn's index. */
  open: number | null;
  /** Opening one also goes there in the recording. */
  onOpen: (turn: number | null) => void;
};

/** A row per answer, all on one scale from 0 to the next 250 ms above the slowest. */
export function LatencyWaterfall({ turns, open, onOpen }: WaterfallProps) {
  const slowest = Math.max(...turns.map((turn) => turn.total));
  const top = Math.ceil((slowest + 1) / 250) * 250;
  const marks = axis(top);
  const staged = turns.some((turn) => turn.segments.length > 0);
  return (
    <div className={styles.waterfall}>
      {staged && (
        <ul className={styles.legend}>
          {ORDER.map((stage) => (
            <li key={stage}>
              <span className={`${styles.swatch} ${styles[stage]}`} />
              {NAMES[stage].short}
            </li>
          ))}
        </ul>
      )}
      <div className={styles.axis} aria-hidden="true">
        {marks.map((mark) => (
          <span key={mark} style={{ left: `${(mark / top) * 100}%` }}>
            {mark}
          </span>
        ))}
      </div>
      <ol>
        {turns.map((turn, index) => (
          <li key={turn.at}>
            <button
              type="button"
              className={styles.row}
              aria-expanded={open === index}
              onClick={() => onOpen(open === index ? null : index)}
            >
              <span className={styles.at}>{duration(turn.at / 1000)}</span>
              <span className={styles.track} aria-hidden="true">
                {marks.slice(1).map((mark) => (
                  <i key={mark} style={{ left: `${(mark / top) * 100}%` }} />
                ))}
                <span className={styles.bar} style={{ width: `${(turn.total / top) * 100}%` }}>
                  {turn.segments.length === 0 && <span className={styles.whole} />}
                  {turn.segments.map((segment) => (
                    <span key={segment.stage} className={styles[segment.stage]} style={{ flexGrow: segment.ms }} />
                  ))}
                </span>
              </span>
              <span className={turn.total > SLOW_MS ? styles.slow : styles.total}>{milliseconds(turn.total)}</span>
            </button>
            {open === index && <Parts turn={turn} />}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Parts({ turn }: { turn: Turn }) {
  return (
    <div className={styles.parts}>
      {turn.segments.length === 0 ? (
        <p>The stages of this answer were not measured.</p>
      ) : (
        <dl>
          {turn.segments.map((segment) => (
            <div key={segment.stage}>
              <dt>
                <span className={`${styles.swatch} ${styles[segment.stage]}`} />
                {NAMES[segment.stage].long}
              </dt>
              <dd>{milliseconds(segment.ms)}</dd>
            </div>
          ))}
        </dl>
      )}
      {turn.why !== null && <p className={styles.why}>{turn.why}</p>}
    </div>
  );
}

function axis(top: number): number[] {
  const step = [250, 500, 1000, 2000, 5000, 10000].find((one) => top / one <= 5) ?? 20000;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, at) => at * step);
}

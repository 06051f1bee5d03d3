import { useEffect, useRef, type KeyboardEvent, type PointerEvent } from "react";
import { duration, spokenDuration } from "../lib/format";
import { bars, type Peaks } from "../lib/peaks";
import { useTheme } from "../lib/theme";
import { useWidth } from "./useWidth";
import styles from "./Waveform.module.css";

const STEP = 4;
const BAR = 2.5;
const LANE = 44;

export type Span = { from: number; to: number };

/** Where the playback is, told as it moves. */
export type Position = {
  time: () => number;
  follow: (listener: () => void) => () => void;
  seek: (seconds: number) => void;
};

type WaveformProps = {
  peaks: Peaks;
  position: Position;
  /** When tools ran, in seconds. */
  tools: Span[];
  /** A new position was chosen; not called during a drag. */
  onSeek: (seconds: number) => void;
};

/** Two lanes, the caller's above the agent's, one playhead; the played part is darker. */
export function Waveform({ peaks, position, tools, onSeek }: WaveformProps) {
  const [element, width] = useWidth<HTMLDivElement>();
  const unplayed = useRef<HTMLCanvasElement>(null);
  const played = useRef<HTMLCanvasElement>(null);
  const head = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const pressedAt = useRef(0);
  const length = peaks.seconds;

  useEffect(() => {
    const [caller, agent] = [peaks.lanes[0] ?? [], peaks.lanes[1] ?? peaks.lanes[0] ?? []];
    const count = Math.floor(width / STEP);
    const lanes: [number[], number[]] = [bars(caller, count), bars(agent, count)];
    draw(unplayed.current, width, lanes);
    draw(played.current, width, lanes);
  }, [peaks, width, theme]);

  useEffect(() => {
    const move = () => {
      const time = Math.min(position.time(), length);
      const x = length > 0 ? (time / length) * width : 0;
      if (played.current) played.current.style.clipPath = `inset(0 ${width - x}px 0 0)`;
      if (head.current) {
        head.current.style.transform = `translateX(${x}px)`;
        head.current.dataset.time = duration(time);
      }
      const slider = element.current;
      slider?.setAttribute("aria-valuenow", String(Math.round(time)));
      slider?.setAttribute("aria-valuetext", `${spokenDuration(time)} of ${spokenDuration(length)}`);
    };
    move();
    return position.follow(move);
  }, [position, width, length, element]);

  const timeAt = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * length;
  };
  const press = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return;
    // A drag continues outside of the waveform.
    event.currentTarget.setPointerCapture(event.pointerId);
    pressedAt.current = position.time();
    position.seek(timeAt(event));
  };
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    if (event.currentTarget.hasPointerCapture(event.pointerId)) position.seek(timeAt(event));
  };
  const release = (event: PointerEvent<HTMLDivElement>) => {
    if (event.currentTarget.hasPointerCapture(event.pointerId)) onSeek(timeAt(event));
  };
  // A finger that scrolls the page pressed the waveform first: that was no choice.
  const cancel = (event: PointerEvent<HTMLDivElement>) => {
    if (event.currentTarget.hasPointerCapture(event.pointerId)) position.seek(pressedAt.current);
  };
  // The page has ← and → for everywhere; a slider has these, too.
  const key = (event: KeyboardEvent) => {
    const time = position.time();
    const to = { Home: 0, End: length, ArrowUp: time + 1, ArrowDown: time - 1, PageUp: time + 10, PageDown: time - 10 }[
      event.key
    ];
    if (to === undefined) return;
    event.preventDefault();
    position.seek(to);
  };
  return (
    <div>
      <div
        ref={element}
        role="slider"
        tabIndex={0}
        aria-label="Position in the recording"
        aria-valuemin={0}
        aria-valuemax={Math.round(length)}
        aria-valuenow={0}
        className={styles.wave}
        onPointerDown={press}
        onPointerMove={drag}
        onPointerUp={release}
        onPointerCancel={cancel}
        onKeyDown={key}
      >
        <canvas ref={unplayed} className={styles.unplayed} />
        <canvas ref={played} className={styles.played} />
        {tools.map((span) => (
          <span
            key={span.from}
            className={styles.tool}
            style={{
              left: (span.from / length) * width,
              width: Math.max(6, ((span.to - span.from) / length) * width),
            }}
          />
        ))}
        <div ref={head} className={styles.head} />
      </div>
      <Axis length={length} width={width} />
    </div>
  );
}

/** Colours come from CSS: the canvas' `color` is the caller's, its outline's the agent's. */
function draw(canvas: HTMLCanvasElement | null, width: number, lanes: [number[], number[]]): void {
  const pen = canvas?.getContext("2d");
  if (!canvas || !pen || width === 0) return;
  const scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = 2 * LANE * scale;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${2 * LANE}px`;
  pen.scale(scale, scale);
  const style = getComputedStyle(canvas);
  [style.color, style.outlineColor].forEach((colour, lane) => {
    pen.fillStyle = colour;
    lanes[lane as 0 | 1].forEach((level, index) => {
      const height = Math.max(1.5, level * (LANE - 8));
      pen.beginPath();
      pen.roundRect(index * STEP, lane * LANE + (LANE - height) / 2, BAR, height, BAR / 2);
      pen.fill();
    });
  });
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800];

function Axis({ length, width }: { length: number; width: number }) {
  if (width === 0) return null;
  const fitting = Math.max(1, Math.floor(width / 72));
  const step = STEPS.find((one) => length / one <= fitting) ?? 3600;
  const marks = Array.from({ length: Math.floor(length / step) + 1 }, (_, at) => at * step);
  // The end has its own mark; one too near gives way.
  const kept = marks.filter((mark) => mark === 0 || ((length - mark) / length) * width > 48);
  return (
    <div className={styles.axis} aria-hidden="true">
      {kept.map((mark) => (
        <span key={mark} style={{ left: (mark / Math.max(length, 0.001)) * width }}>
          {duration(mark)}
        </span>
      ))}
      <span className={styles.end}>{duration(length)}</span>
    </div>
  );
}

import { count, milliseconds } from "../lib/format";
import { ticks } from "../lib/scale";
import { Columns, type Legend, type Plot } from "./Chart";
import styles from "./Chart.module.css";

export type Point = { label: string; name: string; p50: number | null; p95: number | null };

export const lineLegend: Legend[] = [
  { name: "p50", className: styles.solidLegend ?? "", line: "solid" },
  { name: "p95", className: styles.dashedLegend ?? "", line: "dashed" },
];

/** Response times: half of them below the line, 95 of 100 below the dashed one. */
export function LineChart(props: { label: string; points: Point[]; target: number; height?: number }) {
  const { points, target } = props;
  const highest = Math.max(target * 1.1, ...points.map((point) => point.p95 ?? point.p50 ?? 0));
  return (
    <Columns
      label={props.label}
      columns={points.map((point) => point.label)}
      ticks={ticks(highest)}
      tick={count}
      unit="ms"
      height={props.height}
      tip={(column) => <Tip point={points[column]} />}
    >
      {(plot) => (
        <>
          <path d={band(points, plot)} className={styles.area} />
          <Line values={points.map((point) => point.p95)} plot={plot} dashed />
          <Line values={points.map((point) => point.p50)} plot={plot} />
          <line
            x1={plot.left}
            x2={plot.left + plot.width}
            y1={plot.y(target)}
            y2={plot.y(target)}
            className={styles.target}
          />
          <text x={plot.left + 4} y={plot.y(target) - 6} className={styles.targetText}>
            {`target ${target} ms`}
          </text>
        </>
      )}
    </Columns>
  );
}

/** A line through the columns that have a value; a lone one is a dot. */
function Line(props: { values: (number | null)[]; plot: Plot; dashed?: boolean }) {
  const { values, plot, dashed } = props;
  return runs(values).map((run) =>
    run.length === 1 ? (
      <circle
        key={run[0]}
        cx={plot.x(run[0] ?? 0)}
        cy={plot.y(values[run[0] ?? 0] ?? 0)}
        r={3}
        className={dashed ? styles.dotSoft : styles.dot}
      />
    ) : (
      <path
        key={run[0]}
        d={`M${run.map((at) => `${plot.x(at)},${plot.y(values[at] ?? 0)}`).join("L")}`}
        className={dashed ? styles.dashed : styles.line}
      />
    ),
  );
}

function band(points: Point[], plot: Plot): string {
  const both = points.map((point) => (point.p50 === null ? null : point.p95));
  return runs(both)
    .filter((run) => run.length > 1)
    .map((run) => {
      const high = run.map((at) => `${plot.x(at)},${plot.y(points[at]?.p95 ?? 0)}`);
      const low = run.map((at) => `${plot.x(at)},${plot.y(points[at]?.p50 ?? 0)}`).reverse();
      return `M${[...high, ...low].join("L")}Z`;
    })
    .join("");
}

/** The columns with a value, in unbroken runs. */
function runs(values: (number | null)[]): number[][] {
  const result: number[][] = [];
  values.forEach((value, at) => {
    if (value === null) return;
    const last = result[result.length - 1];
    if (last && last[last.length - 1] === at - 1) last.push(at);
    else result.push([at]);
  });
  return result;
}

function Tip({ point }: { point?: Point }) {
  if (!point) return null;
  const read = (value: number | null) => (value === null ? "–" : milliseconds(value));
  return (
    <>
      <strong>{point.name}</strong>
      <span>
        p50 <b>{read(point.p50)}</b>
      </span>
      <span>
        p95 <b>{read(point.p95)}</b>
      </span>
    </>
  );
}

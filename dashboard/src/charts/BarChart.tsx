import { count } from "../lib/format";
import { ticks } from "../lib/scale";
import { Columns, type Legend } from "./Chart";
import styles from "./Chart.module.css";

/** The colours of stacked parts, from the bottom. */
export const BAR_PARTS = [styles.bar ?? "", styles.bad ?? ""];

export type Bar = { label: string; name: string; parts: number[] };

export const barLegend = (names: string[]): Legend[] =>
  names.map((name, index) => ({ name, className: BAR_PARTS[index] ?? "" }));

/** Stacked columns; `names` are the parts from the bottom. */
export function BarChart(props: {
  label: string;
  bars: Bar[];
  names: string[];
  format?: (value: number) => string;
  whole?: boolean;
  height?: number;
}) {
  const format = props.format ?? count;
  const sums = props.bars.map((bar) => bar.parts.reduce((sum, part) => sum + part, 0));
  const axis = ticks(Math.max(0, ...sums), props.whole ?? true);
  return (
    <Columns
      label={props.label}
      columns={props.bars.map((bar) => bar.label)}
      ticks={axis}
      tick={format}
      height={props.height}
      tip={(column) => <Tip bar={props.bars[column]} names={props.names} format={format} />}
    >
      {(plot) => {
        const width = Math.min(32, Math.max(2, plot.column * 0.66));
        return props.bars.map((bar, column) => {
          let below = 0;
          return bar.parts.map((part, index) => {
            const from = below;
            below += part;
            if (part <= 0) return null;
            const top = plot.y(below);
            // A gap of one pixel between parts; a part is seen however small it is.
            const height = Math.max(1.5, plot.y(from) - top - (index > 0 ? 1 : 0));
            return (
              <rect
                key={`${column}-${index}`}
                x={plot.x(column) - width / 2}
                y={top - (index > 0 ? 1 : 0)}
                width={width}
                height={height}
                rx={Math.min(2, height / 2)}
                className={BAR_PARTS[index]}
              />
            );
          });
        });
      }}
    </Columns>
  );
}

function Tip(props: { bar?: Bar; names: string[]; format: (value: number) => string }) {
  if (!props.bar) return null;
  return (
    <>
      <strong>{props.bar.name}</strong>
      {props.names.map((name, index) => (
        <span key={name}>
          {name} <b>{props.format(props.bar?.parts[index] ?? 0)}</b>
        </span>
      ))}
    </>
  );
}

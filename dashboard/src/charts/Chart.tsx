import { ChartColumn, Table2 } from "lucide-react";
import { useState, type PointerEvent, type ReactNode } from "react";
import { Button } from "../components/Button";
import { Card } from "../components/Card";
import { Table, Td, Th } from "../components/Table";
import { labelEvery } from "../lib/scale";
import styles from "./Chart.module.css";
import { useWidth } from "./useWidth";

/** One line of the table behind a chart: its column's name and its values. */
export type ChartRow = { label: string; values: string[] };

/** A card with a chart and, behind "Show as table", what it draws. */
export function ChartCard(props: {
  title: string;
  note?: ReactNode;
  legend?: ReactNode;
  /** Heads of the table: the first one names the rows. */
  heads: string[];
  rows: ChartRow[];
  children: ReactNode;
}) {
  const [asTable, setAsTable] = useState(false);
  const name = asTable ? "Show as chart" : "Show as table";
  const toggle = (
    <Button
      variant="ghost"
      size="small"
      icon={asTable ? <ChartColumn /> : <Table2 />}
      aria-label={`${name}: ${props.title}`}
      title={name}
      onClick={() => setAsTable(!asTable)}
    />
  );
  return (
    <Card
      title={props.title}
      note={props.note}
      flush={asTable}
      action={
        <>
          {!asTable && props.legend}
          {toggle}
        </>
      }
    >
      {asTable ? (
        <div className={styles.table}>
          <Table label={props.title}>
            <thead>
              <tr>
                {props.heads.map((head, index) => (
                  <Th key={head} end={index > 0}>
                    {head}
                  </Th>
                ))}
              </tr>
            </thead>
            <tbody>
              {props.rows.map((row) => (
                <tr key={row.label}>
                  <Td>{row.label}</Td>
                  {row.values.map((value, index) => (
                    <Td key={props.heads[index + 1]} end>
                      {value}
                    </Td>
                  ))}
                </tr>
              ))}
            </tbody>
          </Table>
        </div>
      ) : (
        props.children
      )}
    </Card>
  );
}

export type Legend = { name: string; className: string; line?: "solid" | "dashed" };

export function LegendList({ items }: { items: Legend[] }) {
  return (
    <ul className={styles.legend}>
      {items.map((item) => (
        <li key={item.name}>
          <svg width={item.line ? 14 : 8} height="8" aria-hidden="true">
            {item.line ? (
              <line
                x2="14"
                y1="4"
                y2="4"
                className={item.className}
                strokeWidth="2"
                strokeDasharray={item.line === "dashed" ? "3 2" : undefined}
              />
            ) : (
              <rect width="8" height="8" rx="2" className={item.className} />
            )}
          </svg>
          {item.name}
        </li>
      ))}
    </ul>
  );
}

/** Where things are in a chart of columns. */
export type Plot = {
  left: number;
  width: number;
  height: number;
  /** The column's middle. */
  x: (column: number) => number;
  y: (value: number) => number;
  column: number;
};

const LABELS = 24;
const TOP = 12;

/**
 * The frame that bar and line charts share: grid, axes, and what the column under
 * the pointer holds. `children` draws the data; `tip` is the hovered column's text.
 */
export function Columns(props: {
  label: string;
  columns: string[];
  /** The axis' ticks from 0 up, and how they read. */
  ticks: number[];
  tick: (value: number) => string;
  unit?: string;
  height?: number;
  tip: (column: number) => ReactNode;
  children: (plot: Plot) => ReactNode;
}) {
  const [element, width] = useWidth<HTMLDivElement>();
  const [hovered, setHovered] = useState<number | null>(null);
  const { columns, ticks } = props;
  const height = props.height ?? 176;
  const left = 12 + 7 * Math.max(...ticks.map((tick) => props.tick(tick).length));
  const plot = layout(width, height, left, columns.length, ticks[ticks.length - 1] ?? 1);
  const every = labelEvery(columns.length, plot.width, 56);
  const point = (event: PointerEvent<HTMLDivElement>) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - left;
    const column = Math.floor(x / plot.column);
    setHovered(column >= 0 && column < columns.length ? column : null);
  };
  return (
    <div
      ref={element}
      className={styles.chart}
      style={{ height: height + LABELS }}
      onPointerMove={point}
      onPointerLeave={() => setHovered(null)}
    >
      {width > 0 && (
        <svg width={width} height={height + LABELS} role="img" aria-label={props.label}>
          {ticks.map((tick) => (
            <g key={tick}>
              <line
                x1={left}
                x2={width}
                y1={plot.y(tick)}
                y2={plot.y(tick)}
                className={tick === 0 ? styles.base : styles.grid}
              />
              <text x={left - 10} y={plot.y(tick) + 4} className={styles.tick}>
                {props.tick(tick)}
              </text>
            </g>
          ))}
          {props.unit && (
            <text x={left} y={plot.y(ticks[ticks.length - 1] ?? 0) + 4} className={styles.unit}>
              {props.unit}
            </text>
          )}
          {hovered !== null && (
            <rect
              x={left + hovered * plot.column}
              y={TOP - 4}
              width={plot.column}
              height={height - TOP + 4}
              className={styles.hovered}
            />
          )}
          {props.children(plot)}
          {columns.map(
            (column, index) =>
              index % every === 0 && (
                <text
                  key={index}
                  x={plot.x(index)}
                  y={height + 18}
                  className={index === 0 ? styles.first : styles.label}
                >
                  {column}
                </text>
              ),
          )}
        </svg>
      )}
      {hovered !== null && (
        <div
          className={styles.tip}
          style={{
            [plot.x(hovered) > width / 2 ? "right" : "left"]:
              plot.x(hovered) > width / 2 ? width - plot.x(hovered) + 14 : plot.x(hovered) + 14,
          }}
        >
          {props.tip(hovered)}
        </div>
      )}
    </div>
  );
}

function layout(width: number, height: number, left: number, columns: number, top: number): Plot {
  const inner = Math.max(0, width - left);
  const column = inner / Math.max(1, columns);
  return {
    left,
    width: inner,
    height,
    column,
    x: (index) => left + (index + 0.5) * column,
    y: (value) => height - (value / top) * (height - TOP),
  };
}

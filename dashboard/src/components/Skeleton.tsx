import styles from "./Skeleton.module.css";

type Size = number | string;

/** Stands in the place and size of what is loading; seen after 150 ms only. */
export function Skeleton({ width = "100%", height = 12 }: { width?: Size; height?: Size }) {
  return <span className={styles.skeleton} style={{ width, height }} aria-hidden="true" />;
}

/** Rows of a table or list that is loading. */
export function SkeletonRows({ rows = 6, height = 42 }: { rows?: number; height?: number }) {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={styles.row} style={{ height }}>
          <Skeleton width={72} />
          <Skeleton width={`${38 - ((row * 7) % 16)}%`} />
          <Skeleton width={56} />
        </div>
      ))}
    </div>
  );
}

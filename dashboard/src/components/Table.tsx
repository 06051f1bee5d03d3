import type { HTMLAttributes, ReactNode, TdHTMLAttributes } from "react";
import styles from "./Table.module.css";

/**
 * A plain table inside a `Card flush`; wide ones scroll in their card. Columns that
 * phones can do without get `<Th hide="phone">` and `<Td hide="phone">`.
 */
export function Table({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label={label}>
      <table className={styles.table}>{children}</table>
    </div>
  );
}

type CellProps = TdHTMLAttributes<HTMLTableCellElement> & {
  /** Figures stand at the right. */
  end?: boolean;
  muted?: boolean;
  hide?: "phone" | "tablet";
};

function classes({ end, muted, hide }: CellProps): string {
  return [end && styles.end, muted && styles.muted, hide && styles[hide]].filter(Boolean).join(" ");
}

export function Th({ end, muted, hide, ...rest }: CellProps) {
  return <th scope="col" {...rest} className={classes({ end, muted, hide })} />;
}

export function Td({ end, muted, hide, ...rest }: CellProps) {
  return <td {...rest} className={classes({ end, muted, hide })} />;
}

/** A row with a link in it: the whole row leads there, by the link's stretched area. */
export function Row({ link, ...rest }: HTMLAttributes<HTMLTableRowElement> & { link?: boolean }) {
  return <tr {...rest} className={link ? styles.link : undefined} />;
}

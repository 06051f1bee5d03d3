import { ChevronRight } from "lucide-react";
import { useEffect, useRef, type ReactNode } from "react";
import { Link, useLocation } from "react-router";
import styles from "./PageHeader.module.css";

type PageHeaderProps = {
  title: string;
  /** The page's title may be drawn otherwise than it is named. */
  shown?: ReactNode;
  /** Beside the title: a badge. */
  badge?: ReactNode;
  /** Below the title, muted. */
  meta?: ReactNode;
  /** Buttons, the primary one last. */
  actions?: ReactNode;
  /** Where this page hangs: "Calls". */
  parent?: { title: string; to: string };
  /** What stands after the parent, "0198c69a". */
  crumb?: string;
};

/** The page's only h1, focused when somebody navigates here. */
export function PageHeader(props: PageHeaderProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { pathname, key } = useLocation();
  useEffect(() => {
    document.title = `${props.title} · Switchhook`;
  }, [props.title]);
  useEffect(() => {
    // Not on the first page that is opened: the browser's own start of the page stays.
    if (key !== "default") heading.current?.focus({ preventScroll: true });
    // Filters change the key, not the page.
  }, [pathname]);
  return (
    <header className={styles.header}>
      {props.parent && (
        <nav aria-label="Breadcrumb" className={styles.crumbs}>
          <Link to={props.parent.to}>{props.parent.title}</Link>
          <ChevronRight aria-hidden="true" />
          <span>{props.crumb ?? props.title}</span>
        </nav>
      )}
      <div className={styles.row}>
        <div className={styles.heading}>
          <div className={styles.title}>
            <h1 ref={heading} tabIndex={-1}>
              {props.shown ?? props.title}
            </h1>
            {props.badge}
          </div>
          {props.meta && <p className={styles.meta}>{props.meta}</p>}
        </div>
        {props.actions && <div className={styles.actions}>{props.actions}</div>}
      </div>
    </header>
  );
}

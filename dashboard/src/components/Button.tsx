import type { ComponentProps, ReactNode } from "react";
import { Link, type LinkProps } from "react-router";
import styles from "./Button.module.css";

type Look = {
  /** One `primary` per view. */
  variant?: "primary" | "secondary" | "ghost" | "danger";
  size?: "normal" | "small";
  icon?: ReactNode;
};

function classes({ variant = "secondary", size = "normal" }: Look, square: boolean): string {
  const names = [styles.button, styles[variant], size === "small" && styles.small];
  if (square) names.push(styles.square);
  return names.filter(Boolean).join(" ");
}

type ButtonProps = ComponentProps<"button"> & Look & { busy?: boolean };

/** While `busy` the button keeps its width and focus and ignores clicks. */
export function Button({ variant, size, icon, busy, children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classes({ variant, size }, children === undefined)}
      aria-busy={busy || undefined}
      aria-disabled={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
    >
      {icon}
      {children}
    </button>
  );
}

export function ButtonLink({ variant, size, icon, children, ...rest }: LinkProps & Look) {
  return (
    <Link {...rest} className={classes({ variant, size }, children === undefined)}>
      {icon}
      {children as ReactNode}
    </Link>
  );
}

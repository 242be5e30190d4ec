/** Short states beside a name. */
import type { ReactNode } from "react";
import styles from "./Badge.module.css";

export type Tone = "neutral" | "info" | "warning" | "success" | "danger" | "accent";

export function Badge({ tone = "neutral", children, title }: { tone?: Tone; children: ReactNode; title?: string }) {
  return (
    <span className={`${styles.badge} ${styles[tone]}`} title={title}>
      {children}
    </span>
  );
}

/** A bar for a share of a whole; `value` is between 0 and 1, null when nobody can say. */
export function ProgressBar({ value, label }: { value: number | null; label: string }) {
  const percent = value === null ? undefined : Math.round(value * 100);
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      className={styles.track}
    >
      <div
        className={value === null ? styles.unknown : styles.bar}
        style={{ width: value === null ? "30%" : `${percent}%` }}
      />
    </div>
  );
}

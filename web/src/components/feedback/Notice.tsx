/** A message on the page, and the picture of a page that has nothing yet. */
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import styles from "./Notice.module.css";

export function Notice({
  tone = "info",
  children,
  action,
}: {
  tone?: "info" | "warning" | "success" | "danger";
  children: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className={`${styles.notice} ${styles[tone]}`}>
      <div className={styles.text}>{children}</div>
      {action}
    </div>
  );
}

/** What stands where a list is empty: what belongs here, and how to begin. */
export function EmptyState({
  icon: Icon,
  title,
  children,
  action,
}: {
  icon: LucideIcon;
  title: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className={styles.empty}>
      <Icon size={32} aria-hidden />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

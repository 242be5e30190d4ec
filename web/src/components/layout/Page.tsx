/** The frame of a page: title, actions, sections, and what stands there while it loads. */
import { type ReactNode, useEffect } from "react";
import { useTranslation } from "react-i18next";
import styles from "./Page.module.css";

export function Page({
  title,
  lead,
  actions,
  wide,
  children,
}: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  /** Whether the page takes the whole width. */
  wide?: boolean;
  children: ReactNode;
}) {
  useTitle(title);
  return (
    <div className={[styles.page, wide && styles.wide].filter(Boolean).join(" ")}>
      <header className={styles.header}>
        <div className={styles.heading}>
          <h1>{title}</h1>
          {lead && <div className={styles.lead}>{lead}</div>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** The title of the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · Agentex` : "Agentex";
  }, [title]);
}

export function Section({ title, actions, children }: { title?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className={styles.section}>
      {(title || actions) && (
        <header className={styles.sectionHeader}>
          {title && <h2>{title}</h2>}
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

export function Card({ children, className }: { children: ReactNode; className?: string }) {
  return <div className={[styles.card, className].filter(Boolean).join(" ")}>{children}</div>;
}

/** Grey bars in the shape of what is coming. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  const { t } = useTranslation();
  return (
    <div className={styles.skeleton} role="status" aria-label={t("state.loading")}>
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the bars have no other identity
        <span key={index} style={{ width: `${92 - ((index * 23) % 40)}%` }} />
      ))}
    </div>
  );
}

/** A table that scrolls sideways where it is too wide. */
export function Table({ head, children, label }: { head: ReactNode; children: ReactNode; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={styles.tableFrame} aria-label={label} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>{head}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

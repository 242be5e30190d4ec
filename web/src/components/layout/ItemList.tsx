/** A list of things with a name, states, facts and actions; narrow screens need no sideways scrolling. */
import type { ReactNode } from "react";
import styles from "./ItemList.module.css";

export function ItemList({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ul aria-label={label} className={styles.list}>
      {children}
    </ul>
  );
}

export type Fact = readonly [label: string, value: ReactNode];

export function Item({
  title,
  badges,
  facts = [],
  actions,
  text,
  children,
}: {
  title: ReactNode;
  badges?: ReactNode;
  /** Those without a value are not shown. */
  facts?: readonly Fact[];
  actions?: ReactNode;
  text?: ReactNode;
  /** What stands below, over the whole width, such as the outcome of an action. */
  children?: ReactNode;
}) {
  return (
    <li className={styles.item}>
      <div className={styles.main}>
        <div className={styles.title}>
          {title}
          {badges}
        </div>
        {text}
        <Facts facts={facts} />
      </div>
      {actions && <div className={styles.actions}>{actions}</div>}
      {children && <div className={styles.below}>{children}</div>}
    </li>
  );
}

export function Facts({ facts }: { facts: readonly Fact[] }) {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  if (known.length === 0) return null;
  return (
    <dl className={styles.facts}>
      {known.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

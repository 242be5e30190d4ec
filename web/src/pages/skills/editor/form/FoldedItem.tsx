/** An item behind its name: its fields are there once it is open, because a skill may have hundreds. */
import { type ReactNode, useState } from "react";
import styles from "./form.module.css";

export function FoldedItem({ summary, children }: { summary: ReactNode; children: ReactNode }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className={styles.card} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && <div className={styles.fields}>{children}</div>}
    </details>
  );
}

/** A part of the page behind its heading. */
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { Badge } from "@/components/feedback/Badge";
import styles from "./Disclosure.module.css";

export function Disclosure({
  title,
  count,
  plain,
  open,
  onToggle,
  children,
}: {
  title: ReactNode;
  /** How many things there are inside; nothing is said of none. */
  count?: number;
  /** Whether it stands inside something that has a frame already. */
  plain?: boolean;
  open?: boolean;
  onToggle?: (open: boolean) => void;
  children: ReactNode;
}) {
  return (
    <details
      className={plain ? styles.plain : styles.framed}
      open={open}
      onToggle={onToggle && ((event) => onToggle(event.currentTarget.open))}
    >
      <summary className={styles.summary}>
        <ChevronRight size={16} aria-hidden className={styles.mark} />
        {title}
        {count ? <Badge tone="accent">{count}</Badge> : null}
      </summary>
      <div className={styles.content}>{children}</div>
    </details>
  );
}

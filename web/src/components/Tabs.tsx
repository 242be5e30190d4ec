/** Tabs that are links: each has its own address. */
import { createLink, type LinkComponent } from "@tanstack/react-router";
import { type ComponentProps, forwardRef, type ReactNode } from "react";
import styles from "./Tabs.module.css";

export function TabList({ label, children }: { label: string; children: ReactNode }) {
  return (
    <nav aria-label={label} className={styles.tabs}>
      {children}
    </nav>
  );
}

const Anchor = forwardRef<HTMLAnchorElement, ComponentProps<"a">>(function Anchor({ children, ...rest }, ref) {
  return (
    <a {...rest} ref={ref} className={styles.tab}>
      {children}
    </a>
  );
});

/** A tab of a TabList; it is the current one when its address is open. */
export const TabLink: LinkComponent<typeof Anchor> = createLink(Anchor);

/** Tabs that are links: each has its own address. */
import { createLink, type LinkComponent } from "@tanstack/react-router";
import { type ComponentProps, forwardRef, type ReactNode, useEffect, useRef } from "react";
import styles from "./Tabs.module.css";

export function TabList({ label, children }: { label: string; children: ReactNode }) {
  const tabs = useRef<HTMLElement>(null);
  // The current one moves with the address; tabs come with permissions, and counts in them when they are known.
  useEffect(() => {
    const row = tabs.current;
    if (!row) return;
    const showCurrent = () => centreCurrent(row);
    showCurrent();
    const changes = new MutationObserver(showCurrent);
    changes.observe(row, { subtree: true, childList: true, attributeFilter: ["aria-current"] });
    return () => changes.disconnect();
  }, []);
  return (
    <nav ref={tabs} aria-label={label} className={styles.tabs}>
      {children}
    </nav>
  );
}

/** A phone has room for some tabs only. */
function centreCurrent(row: HTMLElement): void {
  const current = row.querySelector<HTMLElement>("[aria-current=page]");
  if (!current) return;
  const left = current.offsetLeft - row.offsetLeft;
  if (left >= row.scrollLeft && left + current.offsetWidth <= row.scrollLeft + row.clientWidth) return;
  row.scrollLeft = left + (current.offsetWidth - row.clientWidth) / 2;
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

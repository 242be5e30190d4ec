/** Tabs that are links: each has its own address. */
import { createLink, type LinkComponent, useLocation } from "@tanstack/react-router";
import { type ComponentProps, forwardRef, type ReactNode, useEffect, useRef } from "react";
import styles from "./Tabs.module.css";

export function TabList({ label, children }: { label: string; children: ReactNode }) {
  const tabs = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a phone has room for some only, and the current one moves with the address
  useEffect(() => {
    const current = tabs.current?.querySelector<HTMLElement>("[aria-current=page]");
    if (!tabs.current || !current) return;
    const middle = current.offsetLeft - tabs.current.offsetLeft + current.offsetWidth / 2;
    tabs.current.scrollLeft = middle - tabs.current.clientWidth / 2;
  }, [pathname]);
  return (
    <nav ref={tabs} aria-label={label} className={styles.tabs}>
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

/** The frame of the console: navigation at the side, on a phone behind a button. */
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import {
  BookOpen,
  Cpu,
  FileSearch,
  Home,
  type LucideIcon,
  Menu as MenuIcon,
  MessageSquare,
  Plug,
  ScrollText,
  Search,
  Settings2,
  UserRound,
  X,
  Zap,
} from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { type Permission, useMay } from "@/api/account";
import { IconButton } from "@/components/Button";
import { useUnreadCount } from "@/pages/rules/notifications/notificationQueries";
import { AccountMenu } from "./AccountMenu";
import { CommandPalette, type PaletteHandle, usePalette } from "./CommandPalette";
import styles from "./Shell.module.css";

export interface Destination {
  to:
    | "/"
    | "/chat"
    | "/knowledge-bases"
    | "/search"
    | "/skills"
    | "/rules"
    | "/connections"
    | "/models"
    | "/admin"
    | "/profile";
  label: `nav.${"home" | "chat" | "knowledge" | "search" | "skills" | "rules" | "connections" | "models" | "admin" | "profile"}`;
  icon: LucideIcon;
  permission?: Permission;
  /** Another permission that opens the page as well. */
  alternative?: Permission;
}

/** The pages of the navigation, in its order. */
export const DESTINATIONS: readonly Destination[] = [
  { to: "/", label: "nav.home", icon: Home },
  { to: "/chat", label: "nav.chat", icon: MessageSquare, permission: "agent:run" },
  { to: "/knowledge-bases", label: "nav.knowledge", icon: BookOpen, permission: "kb:view" },
  { to: "/search", label: "nav.search", icon: FileSearch, permission: "kb:view" },
  { to: "/skills", label: "nav.skills", icon: ScrollText, permission: "skill:view" },
  { to: "/rules", label: "nav.rules", icon: Zap, permission: "rule:view" },
  { to: "/connections", label: "nav.connections", icon: Plug, permission: "mcp:view" },
  { to: "/models", label: "nav.models", icon: Cpu, permission: "models:view" },
  { to: "/admin", label: "nav.admin", icon: Settings2, permission: "users:manage", alternative: "system:manage" },
  { to: "/profile", label: "nav.profile", icon: UserRound },
];

export function isOpen({ permission, alternative }: Destination, may: (permission: Permission) => boolean): boolean {
  return !permission || may(permission) || (alternative !== undefined && may(alternative));
}

export function Shell() {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const palette = usePalette();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const menu = useRef<HTMLButtonElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes whenever another page opens
  useEffect(() => setOpen(false), [path]);
  function press(event: KeyboardEvent) {
    if (event.key !== "Escape" || !open || event.defaultPrevented) return;
    setOpen(false);
    menu.current?.focus();
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the navigation from wherever the focus is in it
    <div className={styles.shell} onKeyDown={press}>
      <a href="#main" className={styles.skip}>
        {t("nav.skip")}
      </a>
      <header className={styles.bar}>
        <IconButton
          ref={menu}
          icon={open ? X : MenuIcon}
          label={t(open ? "nav.close" : "nav.open")}
          aria-expanded={open}
          aria-controls="navigation"
          onClick={() => setOpen(!open)}
        />
        <Brand />
        <IconButton icon={Search} label={t("palette.open")} onClick={palette.show} />
      </header>
      <div id="navigation" className={[styles.side, open && styles.shown].filter(Boolean).join(" ")}>
        <Brand />
        <Navigation palette={palette} />
        <AccountMenu />
      </div>
      {open && <div className={styles.shade} onClick={() => setOpen(false)} aria-hidden />}
      <main id="main" tabIndex={-1} className={styles.main}>
        <Outlet />
      </main>
      <CommandPalette handle={palette} />
    </div>
  );
}

function Brand() {
  return (
    <Link to="/" className={styles.brand}>
      <img src="/favicon.svg" alt="" width={26} height={26} />
      <span>Agentex</span>
    </Link>
  );
}

function Navigation({ palette }: { palette: PaletteHandle }) {
  const { t } = useTranslation();
  const may = useMay();
  return (
    <nav aria-label={t("nav.label")} className={styles.nav}>
      <button type="button" className={styles.find} onClick={palette.show}>
        <Search size={16} aria-hidden />
        <span>{t("palette.open")}</span>
        <kbd>{palette.shortcut}</kbd>
      </button>
      <ul>
        {DESTINATIONS.filter((destination) => isOpen(destination, may)).map(({ to, label, icon: Icon }) => (
          <li key={to}>
            <Link to={to} activeOptions={{ exact: to === "/" }} className={styles.link}>
              <Icon size={18} aria-hidden />
              {t(label)}
              {to === "/rules" && <UnreadMark />}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** More are not counted out: the number would widen the navigation. */
const MOST_COUNTED = 99;

/** How many notifications of rules were not read. */
function UnreadMark() {
  const { t } = useTranslation("rules");
  const count = useUnreadCount();
  if (count === 0) return null;
  return (
    <>
      <span className={styles.unread} aria-hidden>
        {count > MOST_COUNTED ? `${MOST_COUNTED}+` : count}
      </span>
      <span className="visually-hidden">{t("notification.unread", { count })}</span>
    </>
  );
}

import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/routes";

type Search = Record<string, unknown>;

const word = (value: unknown) =>
  (typeof value === "string" && value) || typeof value === "number" ? String(value) : undefined;
const day = (value: unknown) => (typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value) ? value : undefined);
const pageNumber = (value: unknown) => (Number.isInteger(value) && Number(value) > 1 ? Number(value) : undefined);

export interface UserSearch {
  q?: string | undefined;
  role?: string | undefined;
  status?: "active" | "disabled" | undefined;
  page?: number | undefined;
}

export interface AuditSearch {
  q?: string | undefined;
  action?: string | undefined;
  actor?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
  page?: number | undefined;
}

/** The frame of the administration: its tabs. */
export const adminRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/admin",
  component: lazyRouteComponent(() => import("./AdminLayout"), "AdminLayout"),
});

export const adminTabs = [
  createRoute({
    getParentRoute: () => adminRoute,
    path: "/",
    validateSearch: ({ q, role, status, page }: Search): UserSearch => ({
      q: word(q),
      role: word(role),
      status: status === "active" || status === "disabled" ? status : undefined,
      page: pageNumber(page),
    }),
    component: lazyRouteComponent(() => import("./UserList"), "UserList"),
  }),
  createRoute({
    getParentRoute: () => adminRoute,
    path: "/roles",
    component: lazyRouteComponent(() => import("./RoleList"), "RoleList"),
  }),
  createRoute({
    getParentRoute: () => adminRoute,
    path: "/settings",
    component: lazyRouteComponent(() => import("./SettingList"), "SettingList"),
  }),
  createRoute({
    getParentRoute: () => adminRoute,
    path: "/system",
    component: lazyRouteComponent(() => import("./SystemPage"), "SystemPage"),
  }),
  createRoute({
    getParentRoute: () => adminRoute,
    path: "/backups",
    component: lazyRouteComponent(() => import("./BackupPage"), "BackupPage"),
  }),
  createRoute({
    getParentRoute: () => adminRoute,
    path: "/audit",
    validateSearch: ({ q, action, actor, since, until, page }: Search): AuditSearch => ({
      q: word(q),
      action: word(action),
      actor: word(actor),
      since: day(since),
      until: day(until),
      page: pageNumber(page),
    }),
    component: lazyRouteComponent(() => import("./AuditLog"), "AuditLog"),
  }),
] as const;

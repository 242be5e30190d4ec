import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/routes";
import { readEditorSearch, readListSearch, readLogSearch, readPageSearch } from "./searchParams";

/** The frame of what belongs to all rules: the list, notifications, event sources. */
const rulesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/rules",
  component: lazyRouteComponent(() => import("./RulesLayout"), "RulesLayout"),
});

const rulesTabs = [
  createRoute({
    getParentRoute: () => rulesRoute,
    path: "/",
    validateSearch: readListSearch,
    component: lazyRouteComponent(() => import("./list/RuleList"), "RuleList"),
  }),
  createRoute({
    getParentRoute: () => rulesRoute,
    path: "/notifications",
    validateSearch: readPageSearch,
    component: lazyRouteComponent(() => import("./notifications/NotificationList"), "NotificationList"),
  }),
  createRoute({
    getParentRoute: () => rulesRoute,
    path: "/sources",
    component: lazyRouteComponent(() => import("./sources/EventSourceList"), "EventSourceList"),
  }),
] as const;

/** The frame of one rule. */
const ruleRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/rules/$ruleId",
  component: lazyRouteComponent(() => import("./RuleLayout"), "RuleLayout"),
});

const ruleTabs = [
  createRoute({
    getParentRoute: () => ruleRoute,
    path: "/",
    validateSearch: readEditorSearch,
    component: lazyRouteComponent(() => import("./editor/RuleEditor"), "RuleEditor"),
  }),
  createRoute({
    getParentRoute: () => ruleRoute,
    path: "/log",
    validateSearch: readLogSearch,
    component: lazyRouteComponent(() => import("./log/RuleLog"), "RuleLog"),
  }),
  createRoute({
    getParentRoute: () => ruleRoute,
    path: "/versions",
    validateSearch: readPageSearch,
    component: lazyRouteComponent(() => import("./RuleVersions"), "RuleVersions"),
  }),
  createRoute({
    getParentRoute: () => ruleRoute,
    path: "/sharing",
    component: lazyRouteComponent(() => import("./RuleShares"), "RuleShares"),
  }),
] as const;

export const ruleRoutes = [
  rulesRoute.addChildren([...rulesTabs]),
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/rules/new",
    validateSearch: readEditorSearch,
    component: lazyRouteComponent(() => import("./editor/NewRule"), "NewRule"),
  }),
  ruleRoute.addChildren([...ruleTabs]),
] as const;

import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/routes";
import { CALLBACK_PATH } from "./callbackAnswer";

const USAGE_DAYS = [7, 30, 90, 365] as const;
export type UsageDays = (typeof USAGE_DAYS)[number];

export interface ModelSearch {
  /** Whether the form that adds a model is open. */
  add?: true | undefined;
  days?: UsageDays | undefined;
  scope?: "all" | undefined;
  measure?: "cost" | undefined;
}

export interface ConnectionListSearch {
  add?: true | undefined;
}

const isTrue = (value: unknown) => (value === true || value === 1 || value === "1" ? true : undefined);

export const connectionRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/connections",
    validateSearch: (search: Record<string, unknown>): ConnectionListSearch => ({ add: isTrue(search.add) }),
    component: lazyRouteComponent(() => import("./ConnectionList"), "ConnectionList"),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: CALLBACK_PATH,
    component: lazyRouteComponent(() => import("./AuthorizationCallback"), "AuthorizationCallback"),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/connections/$connectionId",
    validateSearch: ({ tool }: Record<string, unknown>): { tool?: string | undefined } => ({
      tool: typeof tool === "string" ? tool : undefined,
    }),
    component: lazyRouteComponent(() => import("./ConnectionPage"), "ConnectionPage"),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/connections/$connectionId/resources",
    component: lazyRouteComponent(() => import("./ConnectionPage"), "ConnectionResources"),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/connections/$connectionId/prompts",
    component: lazyRouteComponent(() => import("./ConnectionPage"), "ConnectionPrompts"),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/models",
    validateSearch: (search: Record<string, unknown>): ModelSearch => ({
      add: isTrue(search.add),
      days: USAGE_DAYS.find((days) => days === Number(search.days)),
      scope: search.scope === "all" ? "all" : undefined,
      measure: search.measure === "cost" ? "cost" : undefined,
    }),
    component: lazyRouteComponent(() => import("./models/ModelList"), "ModelList"),
  }),
] as const;

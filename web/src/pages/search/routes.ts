import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { knowledgeBaseRoute } from "@/pages/knowledge/routes";
import { shellRoute } from "@/routes";
import { type RetrievalOptions, readOptions, readSearchParams, readWideSearchParams } from "./searchParams";

export const searchRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/search",
    validateSearch: readWideSearchParams,
    component: lazyRouteComponent(() => import("./SearchPage"), "SearchPage"),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/retrievals/$retrievalId",
    component: lazyRouteComponent(() => import("./RetrievalPage"), "RetrievalPage"),
  }),
] as const;

/** Tabs of one knowledge base. */
export const searchTabs = [
  createRoute({
    getParentRoute: () => knowledgeBaseRoute,
    path: "/search",
    validateSearch: readSearchParams,
    component: lazyRouteComponent(() => import("./KnowledgeBaseSearch"), "KnowledgeBaseSearch"),
  }),
  createRoute({
    getParentRoute: () => knowledgeBaseRoute,
    path: "/questions",
    validateSearch: (raw: Record<string, unknown>): QuestionListParams => {
      const options = readOptions(raw.options);
      return {
        ...(typeof raw.page === "number" && raw.page > 1 && { page: Math.floor(raw.page) }),
        ...(options && { options }),
      };
    },
    component: lazyRouteComponent(() => import("./questions/QuestionList"), "QuestionList"),
  }),
  createRoute({
    getParentRoute: () => knowledgeBaseRoute,
    path: "/evaluations/$evaluationId",
    validateSearch: (raw: Record<string, unknown>): EvaluationParams => ({
      ...(typeof raw.with === "string" && { with: raw.with }),
      ...(raw.show === "missed" && { show: raw.show }),
    }),
    component: lazyRouteComponent(() => import("./evaluations/EvaluationPage"), "EvaluationPage"),
  }),
] as const;

export interface QuestionListParams {
  page?: number;
  /** Settings to measure that are not the knowledge base's own. */
  options?: RetrievalOptions;
}

export interface EvaluationParams {
  /** The measurement that it is compared with. */
  with?: string;
  show?: "missed";
}

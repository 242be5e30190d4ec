import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/routes";
import { documentSearch, listSearch } from "./searchParams";

export const knowledgeBaseListRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/knowledge-bases",
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import("./KnowledgeBaseList"), "KnowledgeBaseList"),
});

/** The frame of one knowledge base: its name and tabs. */
export const knowledgeBaseRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/knowledge-bases/$kbId",
  component: lazyRouteComponent(() => import("./KnowledgeBaseLayout"), "KnowledgeBaseLayout"),
});

export const knowledgeBaseTabs = [
  createRoute({
    getParentRoute: () => knowledgeBaseRoute,
    path: "/",
    validateSearch: documentSearch,
    component: lazyRouteComponent(() => import("./documents/DocumentList"), "DocumentList"),
  }),
  createRoute({
    getParentRoute: () => knowledgeBaseRoute,
    path: "/sources",
    component: lazyRouteComponent(() => import("./sources/SourceList"), "SourceList"),
  }),
  createRoute({
    getParentRoute: () => knowledgeBaseRoute,
    path: "/settings",
    component: lazyRouteComponent(() => import("./settings/KnowledgeBaseSettings"), "KnowledgeBaseSettings"),
  }),
] as const;

import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/routes";
import { passageSearch } from "./searchParams";

export const documentRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/knowledge-bases/$kbId/documents/$documentId",
    validateSearch: passageSearch,
    component: lazyRouteComponent(() => import("./DocumentPage"), "DocumentPage"),
  }),
] as const;

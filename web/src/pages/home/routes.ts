import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/routes";

export const homeRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/",
    component: lazyRouteComponent(() => import("./HomePage"), "HomePage"),
  }),
] as const;

import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/routes";

interface ProfileSearch {
  /** What is looked for among the memories. */
  memory?: string | undefined;
  /** The page of the memories. */
  page?: number | undefined;
}

export const profileRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/profile",
    validateSearch: ({ memory, page }: Record<string, unknown>): ProfileSearch => ({
      memory: typeof memory === "string" || typeof memory === "number" ? String(memory) : undefined,
      page: Number.isInteger(page) && Number(page) > 1 ? Number(page) : undefined,
    }),
    component: lazyRouteComponent(() => import("./ProfilePage"), "ProfilePage"),
  }),
] as const;

/** The registry of pages: one line for each area. */
import { createRouter } from "@tanstack/react-router";
import { Skeleton } from "@/components/layout/Page";
import { adminRoute, adminTabs } from "@/pages/admin/routes";
import { chatRoutes } from "@/pages/chat/routes";
import { connectionRoutes } from "@/pages/connections/routes";
import { documentRoutes } from "@/pages/documents/routes";
import { homeRoutes } from "@/pages/home/routes";
import { knowledgeBaseListRoute, knowledgeBaseRoute, knowledgeBaseTabs } from "@/pages/knowledge/routes";
import { profileRoutes } from "@/pages/profile/routes";
import { ruleRoutes } from "@/pages/rules/routes";
import { searchRoutes, searchTabs } from "@/pages/search/routes";
import { signInRoute } from "@/pages/sign-in/routes";
import { skillRoutes } from "@/pages/skills/routes";
import { rootRoute, shellRoute } from "@/routes";
import { PageError } from "@/shell/PageError";

const routeTree = rootRoute.addChildren([
  signInRoute,
  shellRoute.addChildren([
    ...homeRoutes,
    knowledgeBaseListRoute,
    knowledgeBaseRoute.addChildren([...knowledgeBaseTabs, ...searchTabs]),
    ...documentRoutes,
    ...searchRoutes,
    ...skillRoutes,
    ...ruleRoutes,
    ...chatRoutes,
    ...connectionRoutes,
    ...profileRoutes,
    adminRoute.addChildren([...adminTabs]),
  ]),
]);

export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  defaultPendingComponent: () => <Skeleton lines={6} />,
  // Within the frame, so that the way to other pages stays.
  defaultErrorComponent: PageError,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

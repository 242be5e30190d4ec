import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/routes";

export interface ChatSearch {
  /** Words that a conversation is looked for by. */
  find?: string | undefined;
  archived?: boolean | undefined;
}

export interface ThreadSearch {
  /** The source beside the answer: a message's id, a dot, and the citation's number. */
  source?: string | undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.slice(0, 400) : undefined;
}

const layoutRoute = createRoute({
  getParentRoute: () => shellRoute,
  id: "conversations",
  validateSearch: ({ find, archived }: Record<string, unknown>): ChatSearch => ({
    find: text(typeof find === "number" ? String(find) : find),
    archived: archived === true || archived === "true" ? true : undefined,
  }),
  component: lazyRouteComponent(() => import("./ChatLayout"), "ChatLayout"),
});

export const chatRoutes = [
  layoutRoute.addChildren([
    createRoute({
      getParentRoute: () => layoutRoute,
      path: "/chat",
      component: lazyRouteComponent(() => import("./NewChat"), "NewChat"),
    }),
    createRoute({
      getParentRoute: () => layoutRoute,
      path: "/chat/$threadId",
      validateSearch: ({ source }: Record<string, unknown>): ThreadSearch => ({ source: text(source) }),
      component: lazyRouteComponent(() => import("./ChatPage"), "ChatPage"),
    }),
  ]),
] as const;

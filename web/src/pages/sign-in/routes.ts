import { createRoute, redirect } from "@tanstack/react-router";
import { isSignedIn } from "@/api/session";
import { rootRoute } from "@/routes";
import { SignInPage } from "./SignInPage";

export const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in",
  validateSearch: ({ next }: { next?: unknown }): { next?: string } => ({ next: safePath(next) }),
  beforeLoad: ({ search }) => {
    if (isSignedIn()) throw redirect({ href: search.next ?? "/" });
  },
  component: SignInPage,
});

/** A path of this server; anything else, such as another server's address, is dropped. */
export function safePath(path: unknown): string | undefined {
  if (typeof path !== "string" || !path.startsWith("/")) return undefined;
  const url = new URL(path, window.location.origin);
  return url.origin === window.location.origin ? url.pathname + url.search + url.hash : undefined;
}

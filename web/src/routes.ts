/** The two frames of all pages: with the navigation, for who is signed in, and without. */
import { createRootRoute, createRoute, Outlet, redirect } from "@tanstack/react-router";
import { isSignedIn } from "@/api/session";
import { PageError, PageNotFound } from "@/shell/PageError";
import { Shell } from "@/shell/Shell";

export const rootRoute = createRootRoute({
  component: Outlet,
  notFoundComponent: PageNotFound,
  errorComponent: PageError,
});

export const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "shell",
  component: Shell,
  errorComponent: PageError,
  beforeLoad: ({ location }) => {
    if (!isSignedIn()) throw redirect({ to: "/sign-in", search: { next: location.href } });
  },
});

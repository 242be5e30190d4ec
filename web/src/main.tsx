import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, startTransition } from "react";
import { createRoot } from "react-dom/client";
import { accountQuery } from "@/api/account";
import { currentConnection, subscribeConnection } from "@/api/connection";
import { ApiError } from "@/api/errors";
import { isSignedIn, subscribe } from "@/api/session";
import { ToastProvider } from "@/components/feedback/toasts";
import { startTranslations } from "@/i18n";
import { router } from "@/router";
import { ConnectionNotice } from "@/shell/ConnectionNotice";
import { keepFocus } from "@/shell/focusKeeper";
import { watchMissingFiles } from "@/shell/missingFiles";
import { applyTheme, currentTheme } from "@/theme";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What the server refused, it refuses again; what passes by itself is tried once more.
      retry: (count, error) => count < 1 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
});

subscribe(() => {
  const { pathname, search, hash } = window.location;
  if (isSignedIn() || pathname === "/sign-in") void router.invalidate();
  // A new page: nothing of the account stays in this one's memory.
  else window.location.replace(`/sign-in?next=${encodeURIComponent(pathname + search + hash)}`);
});

subscribeConnection(() => {
  if (currentConnection() === "fine") void queries.refetchQueries({ type: "active" });
});

watchMissingFiles(router);
keepFocus();

applyTheme(currentTheme());
// Side by side: one after the other they would be half of the time to the first picture.
if (isSignedIn()) void queries.prefetchQuery(accountQuery);
await Promise.all([startTranslations(), router.load()]);

const root = createRoot(document.getElementById("root") as HTMLElement);
// A transition is drawn in slices, so that a slow processor answers the first keys meanwhile.
startTransition(() =>
  root.render(
    <StrictMode>
      {/* The content security policy allows no inline styles. */}
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={queries}>
          <ToastProvider>
            <RouterProvider router={router} />
            <ConnectionNotice />
          </ToastProvider>
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  ),
);

import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "@/api/errors";
import { isSignedIn, subscribe } from "@/api/session";
import { ToastProvider } from "@/components/toasts";
import { startTranslations } from "@/i18n";
import { router } from "@/router";
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

// After an upgrade, a page that was open asks for files that are gone.
window.addEventListener("vite:preloadError", () => window.location.reload());

applyTheme(currentTheme());
await startTranslations();

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    {/* The content security policy allows no inline styles. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <ToastProvider>
          <RouterProvider router={router} />
        </ToastProvider>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);

/** Files of the console that did not load: after an upgrade they are gone, without a network they come later. */
import { answers, currentConnection, reportUnreachable } from "@/api/connection";
import type { router as Router } from "@/router";

const KEY = "agentex.reloaded";
const AGAIN_AFTER_MS = 10_000;

/** Load the page anew when that helps, once the server answers. */
export function watchMissingFiles(router: typeof Router): void {
  let isMissing = false;
  window.addEventListener("vite:preloadError", (event) => {
    // The router would load the page at once, and lose it where there is no network.
    event.preventDefault();
    isMissing = true;
    void reloadOrWait();
  });
  router.subscribe("onBeforeNavigate", ({ toLocation }) => {
    // What failed on the way to a page that nobody opened is loaded with the next one.
    if (isMissing && currentConnection() === "fine") window.location.assign(toLocation.href);
  });
}

async function reloadOrWait(): Promise<void> {
  if (await answers()) reload();
  else reportUnreachable();
}

function reload(): void {
  const last = Number(sessionStorage.getItem(KEY));
  if (Date.now() - last < AGAIN_AFTER_MS) return;
  sessionStorage.setItem(KEY, String(Date.now()));
  window.location.reload();
}

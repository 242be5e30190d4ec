/** What an authorization server has the browser bring back in the address. */
import type { Schemas } from "@/api/client";

export const CALLBACK_PATH = "/connections/callback";

/** As the server wrote it: the router reads numbers in an address, and writes them in its own way. */
const atStart = window.location.pathname === CALLBACK_PATH ? window.location.search : "";

export function callbackAnswer(): Schemas["McpCallbackBody"] {
  const fields = new URLSearchParams(atStart || window.location.search);
  const answer: Schemas["McpCallbackBody"] = { state: fields.get("state") ?? "none" };
  for (const name of ["code", "error", "iss"] as const) {
    const value = fields.get(name);
    if (value !== null) answer[name] = value;
  }
  return answer;
}

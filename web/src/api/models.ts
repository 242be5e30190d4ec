/** Language models among the models that the API lists. */
import type { Schemas } from "./client";

/** The provider of the installation's own chat model, which quotes sentences where no language model is. */
export const OFFLINE_PROVIDER = "agentex";

/** Whether a model writes answers in its own words. */
export function isLanguageModel({ type, enabled, provider }: Schemas["ModelAnswer"]): boolean {
  return type === "chat" && enabled !== false && provider !== OFFLINE_PROVIDER;
}

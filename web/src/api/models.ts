/** The models that the API lists, and language models among them. */
import { queryOptions } from "@tanstack/react-query";
import { api, call, type Schemas } from "./client";

/** The provider of the installation's own chat model, which quotes sentences where no language model is. */
export const OFFLINE_PROVIDER = "agentex";

/** Whether a model writes answers in its own words. */
export function isLanguageModel({ type, enabled, provider }: Schemas["ModelAnswer"]): boolean {
  return type === "chat" && enabled !== false && provider !== OFFLINE_PROVIDER;
}

const modelsQuery = (type: "chat" | "embedding") =>
  queryOptions({
    queryKey: ["models", type],
    queryFn: () => call(api.GET("/api/v1/models", { params: { query: { type } } })),
    select: ({ items }) => items,
  });

export const chatModelsQuery = modelsQuery("chat");

export const embeddingModelsQuery = modelsQuery("embedding");

/** Queries of MCP connections. */
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";

export type McpConnection = Schemas["McpConnectionAnswer"];
export type McpTool = Schemas["McpToolAnswer"];
export type McpResource = Schemas["McpResourceAnswer"];
export type McpPrompt = Schemas["McpPromptAnswer"];

/** One person keeps at most that many. */
const MOST = 100;

export const connectionsQuery = queryOptions({
  queryKey: ["mcp-connections"],
  queryFn: () => call(api.GET("/api/v1/mcp/connections", { params: { query: { page_size: MOST } } })),
});

const path = (id: string) => ({ params: { path: { connection_id: id } } });

export const connectionQuery = (id: string) =>
  queryOptions({
    queryKey: ["mcp-connections", id],
    queryFn: () => call(api.GET("/api/v1/mcp/connections/{connection_id}", path(id))),
  });

export const toolsQuery = (id: string) =>
  queryOptions({
    queryKey: ["mcp-tools", id],
    queryFn: () => call(api.GET("/api/v1/mcp/connections/{connection_id}/tools", path(id))),
    retry: false,
    staleTime: 60_000,
  });

const onPage = (id: string, page: number) => ({ params: { ...path(id).params, query: { page } } });

export const resourcesQuery = (id: string, page: number) =>
  queryOptions({
    queryKey: ["mcp-texts", id, "resources", page],
    queryFn: () => call(api.GET("/api/v1/mcp/connections/{connection_id}/resources", onPage(id, page))),
    retry: false,
  });

export const promptsQuery = (id: string, page: number) =>
  queryOptions({
    queryKey: ["mcp-texts", id, "prompts", page],
    queryFn: () => call(api.GET("/api/v1/mcp/connections/{connection_id}/prompts", onPage(id, page))),
    retry: false,
  });

export function testConnection(id: string) {
  return call(api.POST("/api/v1/mcp/connections/{connection_id}/test", path(id)));
}

export function useInvalidateConnections(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await Promise.all(
      [["mcp-connections"], ["mcp-tools"], ["mcp-texts"], ["tool-policies"]].map((queryKey) =>
        queries.invalidateQueries({ queryKey }),
      ),
    );
  };
}

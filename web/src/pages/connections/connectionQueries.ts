/** Queries of MCP connections. */
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";

export type Connection = Schemas["McpConnectionAnswer"];
export type McpTool = Schemas["McpToolAnswer"];

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

export function testConnection(id: string) {
  return call(api.POST("/api/v1/mcp/connections/{connection_id}/test", path(id)));
}

export function useInvalidateConnections(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await Promise.all(
      [["mcp-connections"], ["mcp-tools"], ["tool-policies"]].map((queryKey) =>
        queries.invalidateQueries({ queryKey }),
      ),
    );
  };
}

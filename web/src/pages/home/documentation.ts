/** Agentex's own documentation, which the suggested questions are about. */
import { useQuery } from "@tanstack/react-query";
import { api, call } from "@/api/client";
import { ApiError } from "@/api/errors";
import { type Documentation, documentationOf } from "./progress";

/** The id of its knowledge base in every installation (docs/api.md). */
const DOCUMENTATION_ID = "5d8f6c1e-0a47-4e8b-9d0c-a9e27e0d0c50";
const READING_MS = 1500;

export function useDocumentation(): Documentation {
  const path = { kb_id: DOCUMENTATION_ID };
  const { data } = useQuery({
    queryKey: ["knowledge-base", DOCUMENTATION_ID, "documentation"],
    queryFn: async (): Promise<Documentation> => {
      try {
        return documentationOf(await call(api.GET("/api/v1/knowledge-bases/{kb_id}/progress", { params: { path } })));
      } catch (error) {
        if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return { state: "absent" };
        throw error;
      }
    },
    refetchInterval: ({ state }) => (state.data?.state === "reading" ? READING_MS : false),
  });
  return data ?? { state: "unknown" };
}

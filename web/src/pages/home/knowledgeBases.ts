/** The knowledge bases that changed last, with how far each is. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";

export interface KnowledgeBaseState {
  id: string;
  name: string;
  progress: Schemas["ProgressAnswer"];
}

const OPEN = ["pending", "processing"];
const WATCHED = 20;
const BUSY_MS = 2000;
const QUIET_MS = 30_000;

/** How many documents wait or are in work. */
export function openCount({ counts }: KnowledgeBaseState["progress"]): number {
  return OPEN.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
}

/** Their states so far; undefined until the first is known. */
export function useKnowledgeBaseStates(): KnowledgeBaseState[] | undefined {
  const query = { page: 1, page_size: WATCHED, sort_by: "updated_at", sort_order: "desc" } as const;
  const bases = useQuery({
    queryKey: ["knowledge-bases", "latest"],
    queryFn: () => call(api.GET("/api/v1/knowledge-bases", { params: { query } })),
  });
  const states = useQueries({
    queries: (bases.data?.items ?? []).map(({ id, name }) => ({
      queryKey: ["knowledge-base", id, "progress"],
      queryFn: async (): Promise<KnowledgeBaseState> => ({
        id,
        name,
        progress: await call(api.GET("/api/v1/knowledge-bases/{kb_id}/progress", { params: { path: { kb_id: id } } })),
      }),
      refetchInterval: ({ state }: { state: { data?: KnowledgeBaseState } }) =>
        state.data && openCount(state.data.progress) > 0 ? BUSY_MS : QUIET_MS,
    })),
  });
  if (!bases.data) return undefined;
  return states.flatMap(({ data }) => (data ? [data] : []));
}

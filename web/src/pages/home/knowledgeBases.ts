/** The knowledge bases with documents that are in work or failed, with how far each is. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";
import { openCount } from "./progress";

export interface KnowledgeBaseState {
  id: string;
  name: string;
  canWrite: boolean;
  progress: Schemas["ProgressAnswer"];
}

type DocumentStatus = Schemas["DocumentStatus"];

/** At most so many are watched; those that are done make place for the next. */
const WATCHED = 20;
const LIST_MS = 5000;
const BUSY_MS = 2000;
const QUIET_MS = 30_000;

/** States of those with documents that wait or are in work; undefined until they are known. */
export function useBusyKnowledgeBases(): KnowledgeBaseState[] | undefined {
  return useStates(["pending", "processing"], true, BUSY_MS)?.filter(({ progress }) => openCount(progress) > 0);
}

/** States of those with failed documents that the person may mend. */
export function useFailedKnowledgeBases(enabled: boolean): KnowledgeBaseState[] {
  const states = useStates(["failed"], enabled, QUIET_MS) ?? [];
  return states.filter(({ canWrite, progress }) => canWrite && progress.counts.failed);
}

function useStates(
  document_status: DocumentStatus[],
  enabled: boolean,
  refetchInterval: number,
): KnowledgeBaseState[] | undefined {
  const query = { page: 1, page_size: WATCHED, sort_by: "updated_at", sort_order: "desc", document_status } as const;
  const bases = useQuery({
    queryKey: ["knowledge-bases", "with", document_status],
    queryFn: () => call(api.GET("/api/v1/knowledge-bases", { params: { query } })),
    refetchInterval: LIST_MS,
    enabled,
  });
  const states = useQueries({
    queries: (bases.data?.items ?? []).map(({ id, name, can_write: canWrite }) => ({
      queryKey: ["knowledge-base", id, "state"],
      queryFn: async (): Promise<KnowledgeBaseState> => ({
        id,
        name,
        canWrite,
        progress: await call(api.GET("/api/v1/knowledge-bases/{kb_id}/progress", { params: { path: { kb_id: id } } })),
      }),
      refetchInterval,
    })),
  });
  if (!bases.data) return undefined;
  return states.flatMap(({ data }) => (data ? [data] : []));
}

/** Knowledge sources, their syncs, and what is done with them. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";
import { useErrorToast } from "@/components/feedback/toasts";

export type KnowledgeSource = Schemas["KnowledgeSourceAnswer"];
export type Sync = Schemas["SyncAnswer"];
export type SourceBody = Schemas["KnowledgeSourceBody"];

export const OUTCOMES = [
  "created",
  "updated",
  "renamed",
  "deleted",
  "failed",
  "skipped",
  "unchanged",
  "restricted",
  "opened",
] as const;
export const SYNC_STATUSES = ["pending", "running", "confirm", "completed", "failed", "cancelled"] as const;
const HISTORY = 20;

export function isSyncing(sync: Sync | null | undefined): boolean {
  return sync?.status === "pending" || sync?.status === "running";
}

export function sourcesQuery(kbId: string) {
  return queryOptions({
    queryKey: ["knowledge-sources", kbId],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/knowledge-bases/{kb_id}/sources", { params: { path: { kb_id: kbId } }, signal })),
    refetchInterval: ({ state }) => (state.data?.some(({ last_sync }) => isSyncing(last_sync)) ? 1500 : 30_000),
  });
}

export const connectorsQuery = queryOptions({
  queryKey: ["knowledge-connectors"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/knowledge-connectors", { signal })),
});

function pathOf({ id, knowledge_base_id }: KnowledgeSource) {
  return { kb_id: knowledge_base_id, knowledge_source_id: id };
}

export function syncsQuery(source: KnowledgeSource) {
  return queryOptions({
    queryKey: ["knowledge-sources", source.knowledge_base_id, source.id, "syncs"],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/sources/{knowledge_source_id}/syncs", {
          params: { path: pathOf(source), query: { page_size: HISTORY, sort_by: "created_at", sort_order: "desc" } },
          signal,
        }),
      ),
    select: ({ items }) => items,
    refetchInterval: ({ state }) => (state.data?.items.some(isSyncing) ? 1500 : false),
  });
}

export function failuresQuery(source: KnowledgeSource) {
  return queryOptions({
    queryKey: ["knowledge-sources", source.knowledge_base_id, source.id, "failures"],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/sources/{knowledge_source_id}/items", {
          params: { path: pathOf(source), query: { failed: true, page_size: 100 } },
          signal,
        }),
      ),
  });
}

/** Read the sources of a knowledge base anew, and what they may have changed. */
export function useSourceRefresh(kbId: string): () => Promise<unknown> {
  const queries = useQueryClient();
  return () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ["knowledge-sources", kbId] }),
      queries.invalidateQueries({ queryKey: ["knowledge-base", kbId] }),
      queries.invalidateQueries({ queryKey: ["documents", kbId] }),
    ]);
}

type SyncAct = { act: "start"; preview: boolean } | { act: "cancel" | "confirm"; syncId: string };

/** Begin, cancel or confirm a sync. */
export function useSyncAct(source: KnowledgeSource) {
  const refresh = useSourceRefresh(source.knowledge_base_id);
  const onError = useErrorToast();
  return useMutation({
    mutationFn: (request: SyncAct) => {
      const path = pathOf(source);
      if (request.act === "start") {
        const body = { preview: request.preview };
        const where = "/api/v1/knowledge-bases/{kb_id}/sources/{knowledge_source_id}/syncs";
        return call(api.POST(where, { params: { path }, body }));
      }
      const params = { path: { ...path, sync_id: request.syncId } };
      return request.act === "cancel"
        ? call(
            api.POST("/api/v1/knowledge-bases/{kb_id}/sources/{knowledge_source_id}/syncs/{sync_id}/cancel", {
              params,
            }),
          )
        : call(
            api.POST("/api/v1/knowledge-bases/{kb_id}/sources/{knowledge_source_id}/syncs/{sync_id}/confirm", {
              params,
            }),
          );
    },
    onError,
    onSettled: refresh,
  });
}

/** Make a source of a knowledge base, or change one. */
export function saveSource(kbId: string, source: KnowledgeSource | undefined, body: SourceBody) {
  return source
    ? call(
        api.PUT("/api/v1/knowledge-bases/{kb_id}/sources/{knowledge_source_id}", {
          params: { path: pathOf(source) },
          body,
        }),
      )
    : call(api.POST("/api/v1/knowledge-bases/{kb_id}/sources", { params: { path: { kb_id: kbId } }, body }));
}

export function deleteSource(source: KnowledgeSource, withDocuments: boolean) {
  return call(
    api.DELETE("/api/v1/knowledge-bases/{kb_id}/sources/{knowledge_source_id}", {
      params: { path: pathOf(source), query: { documents: withDocuments } },
    }),
  );
}

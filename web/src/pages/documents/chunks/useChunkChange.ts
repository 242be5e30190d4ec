/** Change a passage: its text, or whether searches find it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";
import type { DocumentChunk } from "../passages";

type ChunkPage = Schemas["Items_ChunkAnswer_"];

export function useChunkChange(chunk: DocumentChunk) {
  const queries = useQueryClient();
  const { knowledge_base_id: kbId, document_id: documentId } = chunk;
  return useMutation({
    mutationFn: (change: { version: number; content?: string; enabled?: boolean }) =>
      call(
        api.PUT("/api/v1/knowledge-bases/{kb_id}/chunks/{chunk_id}", {
          params: { path: { kb_id: kbId, chunk_id: chunk.id } },
          body: change,
        }),
      ),
    onSuccess: (changed) => {
      queries.setQueryData(["chunks", kbId, "one", chunk.id], changed);
      queries.setQueriesData<ChunkPage>(
        { queryKey: ["chunks", kbId, documentId] },
        (page) => page && { ...page, items: page.items.map((item) => (item.id === changed.id ? changed : item)) },
      );
      // Which passages are changed ones is asked again when that list is opened next.
      void queries.invalidateQueries({
        predicate: ({ queryKey: [noun, , id, page] }) =>
          noun === "chunks" && id === documentId && (page as { changed?: boolean } | undefined)?.changed === true,
        refetchType: "none",
      });
    },
  });
}

/** The passage as it is now, after somebody else changed it. */
export function useFreshChunk(chunk: DocumentChunk) {
  return useMutation({
    mutationFn: () =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/chunks/{chunk_id}", {
          params: { path: { kb_id: chunk.knowledge_base_id, chunk_id: chunk.id } },
        }),
      ),
  });
}

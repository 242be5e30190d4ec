/** What is read of a document: itself, its file and its passages. */
import { keepPreviousData, queryOptions, useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { api, call, download, type Schemas } from "@/api/client";
import type { DocumentChunk } from "./passages";

export type DocumentAnswer = Schemas["DocumentAnswer"];

const PAGE = 100;
// Of longer documents only the passages that are looked at are loaded.
const LOAD_ALL = 2000;
const BUSY_MS = 1500;

const isBusy = (document: DocumentAnswer | undefined) =>
  document?.status === "pending" || document?.status === "processing";

export function documentQuery(kbId: string, documentId: string) {
  return queryOptions({
    queryKey: ["documents", kbId, "one", documentId],
    queryFn: () =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}", {
          params: { path: { kb_id: kbId, doc_id: documentId } },
        }),
      ),
    refetchInterval: (query) => (isBusy(query.state.data) ? BUSY_MS : false),
  });
}

export function contentPath(document: DocumentAnswer): string {
  return `/api/v1/knowledge-bases/${document.knowledge_base_id}/documents/${document.id}/content`;
}

/** The bytes of the file; they are kept while the document is looked at. */
export function contentQuery(document: DocumentAnswer) {
  return queryOptions({
    queryKey: ["document-content", document.id, document.sha256],
    queryFn: async ({ signal }) => (await download(contentPath(document), { signal })).blob,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
}

export function chunkQuery(kbId: string, chunkId: string | undefined) {
  return queryOptions({
    queryKey: ["chunks", kbId, "one", chunkId],
    queryFn: () =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/chunks/{chunk_id}", {
          params: { path: { kb_id: kbId, chunk_id: chunkId ?? "" } },
        }),
      ),
    enabled: chunkId !== undefined,
  });
}

function chunkPageQuery(document: DocumentAnswer, page: number, changed: boolean) {
  return queryOptions({
    queryKey: [
      "chunks",
      document.knowledge_base_id,
      document.id,
      { revision: document.active_revision, changed, page },
    ] as const,
    queryFn: () =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/chunks", {
          params: {
            path: { kb_id: document.knowledge_base_id, doc_id: document.id },
            query: { page, page_size: PAGE, ...(changed && { changed }) },
          },
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export interface Chunks {
  /** By their index; what is not loaded yet is undefined. */
  items: readonly (DocumentChunk | undefined)[];
  /** Undefined until it is known. */
  total: number | undefined;
  error: unknown;
  retry: () => void;
  /** Load the passages of these indexes. */
  want: (from: number, to: number) => void;
}

/** The passages of a document in reading order, loaded by pages. */
export function useChunks(document: DocumentAnswer, changed = false): Chunks {
  const first = useQuery(chunkPageQuery(document, 1, changed));
  const total = first.data?.total;
  const [wanted, setWanted] = useState<readonly number[]>([]);
  const count = Math.ceil((total ?? 0) / PAGE);
  const pages = (total ?? 0) <= LOAD_ALL ? Array.from({ length: count }, (_, index) => index + 1) : wanted;
  const combine = useCallback(
    (
      answers: {
        data?: { items: DocumentChunk[]; page: number } | undefined;
        error: unknown;
        refetch: () => unknown;
      }[],
    ) => {
      const items = new Array<DocumentChunk | undefined>(total ?? 0).fill(undefined);
      for (const { data } of answers)
        data?.items.forEach((chunk, index) => {
          items[(data.page - 1) * PAGE + index] = chunk;
        });
      const failed = answers.find((answer) => answer.error);
      return { items: items.slice(0, total), error: failed?.error ?? null, refetch: failed?.refetch };
    },
    [total],
  );
  const { items, error, refetch } = useQueries({
    queries: pages.filter((page) => page <= count).map((page) => chunkPageQuery(document, page, changed)),
    combine,
  });
  const want = useCallback((from: number, to: number) => {
    const [low, high] = [Math.floor(from / PAGE) + 1, Math.floor(to / PAGE) + 1];
    setWanted((before) => {
      const missing = Array.from({ length: high - low + 1 }, (_, index) => low + index).filter(
        (page) => page > 0 && !before.includes(page),
      );
      return missing.length ? [...before, ...missing] : before;
    });
  }, []);
  return {
    items,
    total,
    error: first.error ?? error,
    retry: () => void (first.error ? first.refetch() : refetch?.()),
    want,
  };
}

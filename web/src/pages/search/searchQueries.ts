/** Queries of the search test. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";
import type { Filters, PassageReference, RetrievalOptions, WideSearchParams } from "./searchParams";

export type SearchAnswer = Schemas["SearchAnswer"];
export type Passage = Schemas["PassageAnswer"];
export type Reason = Schemas["ReasonAnswer"];
export type WhyAnswer = Schemas["WhyAnswer"];
export type ExpectedChunk = Schemas["ChunkAnswer"];

export interface SearchRequest {
  q: string | undefined;
  filters: Filters | undefined;
  options: RetrievalOptions | undefined;
}

function body({ q = "", filters, options }: SearchRequest) {
  return { ...options, query: q, ...(filters && { filters }), explain: true };
}

// What the knowledge base holds may change at any time, and a test must show how it is now.
const FRESH = { staleTime: 0, refetchOnWindowFocus: false, placeholderData: keepPreviousData } as const;

export function useTestSearch(kbId: string, asked: SearchRequest, enabled = true) {
  return useQuery({
    queryKey: ["search", kbId, asked],
    queryFn: ({ signal }) =>
      call(
        api.POST("/api/v1/knowledge-bases/{kb_id}/search", {
          params: { path: { kb_id: kbId } },
          body: { ...body(asked), include_metadata: false },
          signal,
        }),
      ),
    enabled: enabled && Boolean(asked.q),
    ...FRESH,
  });
}

export function useWideSearch({ q, kb, filters, options }: WideSearchParams) {
  return useQuery({
    queryKey: ["search", "all", { q, kb, filters, options }],
    queryFn: ({ signal }) =>
      call(
        api.POST("/api/v1/search", {
          body: { ...body({ q, filters, options }), include_metadata: false, ...(kb && { knowledge_base_ids: kb }) },
          signal,
        }),
      ),
    enabled: Boolean(q),
    ...FRESH,
  });
}

export function useWhy(kbId: string, asked: SearchRequest, wanted: PassageReference) {
  return useQuery({
    queryKey: ["search", kbId, "why", asked, wanted],
    queryFn: ({ signal }) =>
      call(
        api.POST("/api/v1/knowledge-bases/{kb_id}/search/why", {
          params: { path: { kb_id: kbId } },
          body: { ...body(asked), explain: false, ...wanted },
          signal,
        }),
      ),
    enabled: Boolean(asked.q),
    staleTime: 0,
    refetchOnWindowFocus: false,
  });
}

export function useKnowledgeBase(kbId: string) {
  return useQuery({
    queryKey: ["knowledge-base", kbId],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/knowledge-bases/{kb_id}", { params: { path: { kb_id: kbId } }, signal })),
  });
}

/** The knowledge bases that can be chosen, by name; the first hundred. */
export function useKnowledgeBaseChoice() {
  const query = { page: 1, page_size: 100, sort_by: "name", sort_order: "asc" } as const;
  return useQuery({
    queryKey: ["knowledge-bases", "choice"],
    queryFn: ({ signal }) => call(api.GET("/api/v1/knowledge-bases", { params: { query }, signal })),
  });
}

export function useChunk(kbId: string, chunkId: string) {
  return useQuery({
    queryKey: ["chunk", kbId, chunkId],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/chunks/{chunk_id}", {
          params: { path: { kb_id: kbId, chunk_id: chunkId } },
          signal,
        }),
      ),
    staleTime: 60_000,
  });
}

export function useDocument(kbId: string, documentId: string) {
  return useQuery({
    queryKey: ["document", kbId, documentId],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}", {
          params: { path: { kb_id: kbId, doc_id: documentId } },
          signal,
        }),
      ),
  });
}

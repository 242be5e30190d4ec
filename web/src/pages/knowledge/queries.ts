/** Queries of knowledge bases, their documents and what people choose from. */
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";
import type { DocumentSearch } from "./searchParams";

export type KnowledgeBase = Schemas["KnowledgeBaseAnswer"];
export type DocumentRow = Schemas["DocumentAnswer"];
export type IngestionProgress = Schemas["ProgressAnswer"];
export type Transfer = Schemas["TransferAnswer"];
export type Reindex = Schemas["ReindexAnswer"];

export const PAGE_SIZE = 50;
const MOST = 100;

export const knowledgeBasesQuery = queryOptions({
  queryKey: ["knowledge-bases", "all"],
  queryFn: async ({ signal }) => {
    const found: KnowledgeBase[] = [];
    for (let page = 1, pages = 1; page <= pages; page++) {
      const query = { page, page_size: MOST, sort_by: "updated_at", sort_order: "desc" } as const;
      const answer = await call(api.GET("/api/v1/knowledge-bases", { params: { query }, signal }));
      found.push(...answer.items);
      pages = answer.pages;
    }
    return found;
  },
});

export function knowledgeBaseQuery(kbId: string) {
  return queryOptions({
    queryKey: ["knowledge-base", kbId],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/knowledge-bases/{kb_id}", { params: { path: { kb_id: kbId } }, signal })),
  });
}

export function documentListKey(kbId: string) {
  return ["documents", kbId, "list"] as const;
}

export function documentsQuery(kbId: string, { q, page = 1, status, sort = "updated_at", order }: DocumentSearch) {
  const sort_order = order ?? (sort === "name" || sort === "status" ? "asc" : "desc");
  return queryOptions({
    queryKey: [...documentListKey(kbId), { q, page, status, sort, sort_order }],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/documents", {
          params: {
            path: { kb_id: kbId },
            query: { page, page_size: PAGE_SIZE, status, name_contains: q, sort_by: sort, sort_order },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export function progressQuery(kbId: string) {
  return queryOptions({
    queryKey: ["knowledge-base", kbId, "progress"],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/knowledge-bases/{kb_id}/progress", { params: { path: { kb_id: kbId } }, signal })),
  });
}

export function reindexQuery(kbId: string) {
  return queryOptions({
    queryKey: ["knowledge-base", kbId, "reindex"],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/knowledge-bases/{kb_id}/reindex", { params: { path: { kb_id: kbId } }, signal })),
    refetchInterval: ({ state }) => (isUnderWay(state.data) ? 2000 : false),
  });
}

export function isUnderWay(reindex: Reindex | undefined): boolean {
  return reindex !== undefined && reindex.state !== "none";
}

export const transfersQuery = queryOptions({
  queryKey: ["transfers"],
  queryFn: ({ signal }) =>
    call(
      api.GET("/api/v1/transfers", {
        params: { query: { page_size: 20, sort_by: "created_at", sort_order: "desc" } },
        signal,
      }),
    ),
  select: ({ items }) => items,
  refetchInterval: ({ state }) => (state.data?.items.some(isMoving) ? 1500 : false),
});

export function isMoving({ status }: Transfer): boolean {
  return status === "pending" || status === "processing";
}

/** Whether an import or a copy is still filling it: it is switched off until that ends. */
export function useIsFilling(kbId: string, enabled: boolean): boolean {
  const transfers = useQuery({ ...transfersQuery, enabled: !enabled }).data ?? [];
  return !enabled && transfers.some((transfer) => transfer.knowledge_base_id === kbId && isMoving(transfer));
}

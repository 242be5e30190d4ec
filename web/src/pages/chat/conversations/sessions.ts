/** Conversations as the server lists them. */
import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, call, type Schemas, save } from "@/api/client";
import { ApiError } from "@/api/errors";
import { type Choices, configOf } from "../composer/choices";
import { forget } from "./conversations";

export type Session = Schemas["SessionAnswer"];
export type ListedSession = Schemas["ListedSession"];
type Change = Schemas["SessionChangeBody"];

const PAGE_SIZE = 30;

export function sessionListQuery(find: string, archived: boolean) {
  return infiniteQueryOptions({
    queryKey: ["sessions", "list", find, archived],
    queryFn: ({ pageParam }) =>
      call(
        api.GET("/api/v1/sessions", {
          params: {
            query: {
              page: pageParam,
              page_size: PAGE_SIZE,
              sort_by: "updated_at",
              sort_order: "desc",
              is_archived: archived,
              ...(find ? { search: find } : {}),
            },
          },
        }),
      ),
    initialPageParam: 1,
    getNextPageParam: ({ page, pages }) => (page < pages ? page + 1 : undefined),
    placeholderData: (before) => before,
  });
}

/** A session by the id of its thread. */
export function sessionQuery(threadId: string) {
  return queryOptions({
    queryKey: ["sessions", "one", threadId],
    queryFn: () => call(api.GET("/api/v1/sessions/{session_id}", { params: { path: { session_id: threadId } } })),
  });
}

export async function createSession(choices: Choices): Promise<Session> {
  return call(api.POST("/api/v1/sessions", { body: { title: "", config: configOf(choices) } }));
}

export function exportSession(id: string, format: "markdown" | "json"): Promise<void> {
  return save(`/api/v1/sessions/${encodeURIComponent(id)}/export?format=${format}`);
}

export function useChangeSession() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, change }: { id: string; change: Change }) =>
      call(api.PUT("/api/v1/sessions/{session_id}", { params: { path: { session_id: id } }, body: change })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["sessions"] }),
  });
}

export function useDeleteSession() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ id, threadId }: { id: string; threadId: string }) => {
      const { error, response } = await api.DELETE("/api/v1/sessions/{session_id}", {
        params: { path: { session_id: id } },
      });
      if (error !== undefined || !response.ok) throw ApiError.of(response, error);
      forget(threadId);
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ["sessions", "list"] }),
  });
}

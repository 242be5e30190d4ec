/** Queries of notifications: what rules have to say to their owner. */
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMay } from "@/api/account";
import { api, call, callEmpty, type Schemas } from "@/api/client";
import { useErrorToast } from "@/components/feedback/toasts";

export type Notification = Schemas["NotificationAnswer"];
type Listing = Schemas["NotificationItems"];

/** Nobody asks for it: it comes soon enough. */
const PAUSE_MS = 30_000;
const NEWEST = 5;
const PER_PAGE = 20;

/** The newest ones that were not read, and how many there are. */
const unreadQuery = queryOptions({
  queryKey: ["notifications", "unread"],
  queryFn: () => {
    const query = { page: 1, page_size: NEWEST, unread: true };
    return call(api.GET("/api/v1/notifications", { params: { query } }));
  },
  refetchInterval: PAUSE_MS,
});

export const notificationsQuery = (page: number) =>
  queryOptions({
    queryKey: ["notifications", "list", page],
    queryFn: () => call(api.GET("/api/v1/notifications", { params: { query: { page, page_size: PER_PAGE } } })),
    placeholderData: (before) => before,
    refetchInterval: PAUSE_MS,
  });

/** The newest notifications that were not read, and how many there are; nothing is asked for who may not see them. */
export function useUnread(): { newest: readonly Notification[]; count: number } {
  const may = useMay();
  const { data } = useQuery({ ...unreadQuery, enabled: may("rule:view") });
  return { newest: data?.items ?? [], count: data?.unread ?? 0 };
}

/** How many notifications were not read. */
export function useUnreadCount(): number {
  return useUnread().count;
}

/** Mark notifications as read, one by its id or all; the page shows it at once. */
export function useMarkRead() {
  const queries = useQueryClient();
  const fail = useErrorToast();
  return useMutation({
    mutationFn: async (id: string | null) => {
      if (id === null) await callEmpty(api.PUT("/api/v1/notifications/read"));
      else await call(api.PUT("/api/v1/notifications/{notification_id}/read", { params: pathOf(id) }));
    },
    onMutate: async (id) => {
      await queries.cancelQueries({ queryKey: ["notifications"] });
      const time = new Date().toISOString();
      const isMeant = (item: Notification) => !item.read_at && (id === null || item.id === id);
      const rest = (unread: number) => (id === null ? 0 : Math.max(0, unread - 1));
      queries.setQueriesData<Listing>(
        { queryKey: ["notifications", "list"] },
        (before) =>
          before && {
            ...before,
            unread: rest(before.unread),
            items: before.items.map((item) => (isMeant(item) ? { ...item, read_at: time } : item)),
          },
      );
      queries.setQueryData<Listing>(
        unreadQuery.queryKey,
        (before) =>
          before && {
            ...before,
            unread: rest(before.unread),
            items: before.items.filter((item) => !isMeant(item)),
          },
      );
    },
    onError: fail,
    // The error's, too: what was shown at once is not so.
    onSettled: () => queries.invalidateQueries({ queryKey: ["notifications"] }),
  });
}

export function useDeleteNotification() {
  const queries = useQueryClient();
  const fail = useErrorToast();
  return useMutation({
    mutationFn: (id: string) =>
      callEmpty(api.DELETE("/api/v1/notifications/{notification_id}", { params: pathOf(id) })),
    onError: fail,
    onSettled: () => queries.invalidateQueries({ queryKey: ["notifications"] }),
  });
}

const pathOf = (id: string) => ({ path: { notification_id: id } });

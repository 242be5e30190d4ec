/** Queries of notifications: what rules have to say to their owner. */
import { queryOptions } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";

export type Notification = Schemas["NotificationAnswer"];

/** Nobody asks for it: it comes soon enough. */
const PAUSE_MS = 30_000;

/** How many notifications were not read. */
export const unreadQuery = queryOptions({
  queryKey: ["notifications", "unread"],
  queryFn: async () => {
    const query = { page: 1, page_size: 1, unread: true };
    return (await call(api.GET("/api/v1/notifications", { params: { query } }))).unread;
  },
  refetchInterval: PAUSE_MS,
});

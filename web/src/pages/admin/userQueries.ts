/** Queries of accounts and roles. */
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";
import type { UserSearch } from "./routes";

export type User = Schemas["UserAnswer"];

export const rolesQuery = queryOptions({
  queryKey: ["roles"],
  queryFn: () => call(api.GET("/api/v1/admin/roles")),
});

export function usersQuery({ q, role, status, page }: UserSearch) {
  return queryOptions({
    queryKey: ["users", q, role, status, page],
    queryFn: () =>
      call(
        api.GET("/api/v1/admin/users", { params: { query: { search: q, role_id: role, status, page: page ?? 1 } } }),
      ),
    placeholderData: (before) => before,
  });
}

export const userQuery = (id: string) =>
  queryOptions({
    queryKey: ["users", "account", id],
    queryFn: () => call(api.GET("/api/v1/admin/users/{user_id}", { params: { path: { user_id: id } } })),
    retry: false,
    staleTime: 60_000,
  });

export function useInvalidateUsers(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ["users"] });
}

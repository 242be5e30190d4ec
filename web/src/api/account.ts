/** Who is signed in, and what they may do. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, call } from "./client";

export type Permission =
  | "kb:view"
  | "kb:write"
  | "skill:view"
  | "skill:write"
  | "session:view"
  | "session:write"
  | "memory:view"
  | "memory:write"
  | "agent:run"
  | "calendar:view"
  | "calendar:write"
  | "models:view"
  | "models:manage"
  | "mcp:view"
  | "mcp:create"
  | "rule:view"
  | "rule:write"
  | "users:manage"
  | "system:manage";

export const accountQuery = queryOptions({
  queryKey: ["account"],
  queryFn: () => call(api.GET("/api/v1/users/me")),
  staleTime: 60_000,
});

export function useAccount() {
  return useQuery(accountQuery).data;
}

/** Whether the account may do something; false until that is known. */
export function useMay(): (permission: Permission) => boolean {
  const permissions = useAccount()?.permissions;
  return (permission) => permissions?.includes(permission) ?? false;
}

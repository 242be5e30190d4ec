/** What tools may do without asking. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";
import { useErrorToast } from "@/components/feedback/toasts";

export type ToolPolicy = Schemas["ToolPolicyAnswer"];

export const POLICIES = ["auto", "ask", "never"] as const;

export const policiesQuery = queryOptions({
  queryKey: ["tool-policies"],
  queryFn: () => call(api.GET("/api/v1/users/me/tool-policies")),
});

/** Choose for one tool; null takes the choice back. */
export function useChoosePolicy() {
  const queries = useQueryClient();
  const fail = useErrorToast();
  return useMutation({
    mutationFn: ({ tool, own }: { tool: string; own: ToolPolicy["own"] }) =>
      call(api.PUT("/api/v1/users/me/tool-policies", { body: { policies: { [tool]: own } } })),
    onSuccess: (list) => queries.setQueryData(policiesQuery.queryKey, list),
    onError: fail,
  });
}

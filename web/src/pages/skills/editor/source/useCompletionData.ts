/** What the editor can complete: the tools of the person's agents, and the inputs that the text declares. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Schemas } from "@/api/client";
import { policiesQuery } from "@/pages/connections/toolPolicies";
import type { CompletionData } from "./completions";

export function useCompletionData(parsed: Schemas["ParsedSkill"] | null): CompletionData {
  const { data } = useQuery({ ...policiesQuery, staleTime: 60_000 });
  return useMemo(
    () => ({
      tools: (data?.items ?? []).map(({ tool }) => tool),
      params: (parsed?.input_params ?? []).map(({ name }) => name),
    }),
    [data, parsed],
  );
}

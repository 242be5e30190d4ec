/** What the server says of a text while it is written. */
import { keepPreviousData, type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import type { CheckedText } from "./source/diagnostics";

const PAUSE_MS = 350;

function reportKey(text: string, skillId: string | null) {
  return ["skill-report", skillId, text] as const;
}

/** The newest verdict; that of an earlier text until there is one of this text. */
export function useSkillReport(
  text: string,
  skillId: string | null,
): { checkedText: CheckedText | null; error: unknown } {
  const queries = useQueryClient();
  const paused = useSettled(text);
  // What the server wrote it has checkedText already.
  const settled = queries.getQueryData(reportKey(text, skillId)) ? text : paused;
  const { data, error } = useQuery({
    queryKey: reportKey(settled, skillId),
    // A newer text ends the request of the one before it.
    queryFn: async ({ signal }): Promise<CheckedText> => {
      const body = { content: settled, ...(skillId && { skill_id: skillId }) };
      return { text: settled, report: await call(api.POST("/api/v1/skills/validate", { body, signal })) };
    },
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  return { checkedText: data ?? null, error };
}

/** Take a verdict that came with a text that the server wrote. */
export function keepReport(
  queries: QueryClient,
  text: string,
  skillId: string | null,
  report: Schemas["ReportAnswer"],
) {
  queries.setQueryData<CheckedText>(reportKey(text, skillId), { text, report });
}

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

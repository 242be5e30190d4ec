/** What people do with a knowledge base and its documents, and what is read anew afterwards. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import type { Status } from "./searchParams";

export type ActionName = Schemas["ActionName"];
export type KnowledgeBaseChange = Partial<Schemas["CreateBody"]>;

export interface BulkAction {
  action: ActionName;
  ids?: readonly string[];
  status?: Status;
}

const MOST = 1000;

export function useRefresh(kbId: string): () => Promise<unknown> {
  const queries = useQueryClient();
  return () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ["knowledge-bases"] }),
      queries.invalidateQueries({ queryKey: ["knowledge-base", kbId] }),
      queries.invalidateQueries({ queryKey: ["documents", kbId] }),
    ]);
}

async function runBulk(kbId: string, { action, ids, status }: BulkAction): Promise<Schemas["BulkAnswer"]["counts"]> {
  const counts: Record<string, number> = {};
  for (let from = 0; ; from += MOST) {
    const body = ids ? { action, document_ids: ids.slice(from, from + MOST) } : { action, status };
    const answer = await call(
      api.POST("/api/v1/knowledge-bases/{kb_id}/documents/bulk", { params: { path: { kb_id: kbId } }, body }),
    );
    for (const [outcome, count] of Object.entries(answer.counts)) counts[outcome] = (counts[outcome] ?? 0) + count;
    const isMoving = (answer.counts.done ?? 0) > 0;
    if (ids ? from + MOST >= ids.length : !answer.more || !isMoving) return counts;
  }
}

/** Pause, resume, cancel, retry or delete many documents; says what happened. */
export function useBulkAction(kbId: string) {
  const { t } = useTranslation("knowledge");
  const refresh = useRefresh(kbId);
  const onError = useErrorToast();
  return useMutation({
    mutationFn: (request: BulkAction) => runBulk(kbId, request),
    onError,
    onSuccess: (counts, { action }) => {
      const done = counts.done ?? 0;
      const rest = (counts.refused ?? 0) + (counts.not_found ?? 0);
      const said = t(`bulk.done.${action}`, { count: done });
      notify(rest ? `${said} ${t("bulk.refused", { count: rest })}` : said);
    },
    onSettled: refresh,
  });
}

export function useChangeBase(kbId: string) {
  const refresh = useRefresh(kbId);
  return useMutation({
    mutationFn: (body: KnowledgeBaseChange) =>
      call(api.PUT("/api/v1/knowledge-bases/{kb_id}", { params: { path: { kb_id: kbId } }, body })),
    onSuccess: refresh,
  });
}

export function usePauseBase(kbId: string) {
  const refresh = useRefresh(kbId);
  const onError = useErrorToast();
  return useMutation({
    mutationFn: (paused: boolean) => {
      const params = { path: { kb_id: kbId } };
      return paused
        ? call(api.POST("/api/v1/knowledge-bases/{kb_id}/pause", { params }))
        : call(api.POST("/api/v1/knowledge-bases/{kb_id}/resume", { params }));
    },
    onError,
    onSettled: refresh,
  });
}

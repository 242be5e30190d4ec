/** What can be done with a document as a whole. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, call, callEmpty } from "@/api/client";
import type { DocumentMetadata } from "./details/metadata";
import { type DocumentAnswer, documentQuery } from "./queries";

export type DocumentAction = "pause" | "resume" | "cancel" | "retry";

export interface DocumentChange {
  name?: string;
  encoding?: string;
  /** Replaces what was there. */
  metadata?: DocumentMetadata;
}

const PATHS = {
  pause: "/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/pause",
  resume: "/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/resume",
  cancel: "/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/cancel",
  retry: "/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/retry",
} as const;

const ALLOWED: Partial<Record<string, readonly DocumentAction[]>> = {
  pending: ["pause", "cancel"],
  processing: ["pause", "cancel"],
  paused: ["resume", "cancel"],
  failed: ["retry"],
  cancelled: ["retry"],
};

export function actionsOf({ status }: DocumentAnswer): readonly DocumentAction[] {
  return ALLOWED[status] ?? [];
}

export function useDocumentActions(document: DocumentAnswer) {
  const queries = useQueryClient();
  const path = { kb_id: document.knowledge_base_id, doc_id: document.id };
  function keep(answer: DocumentAnswer) {
    queries.setQueryData(documentQuery(path.kb_id, path.doc_id).queryKey, answer);
    return queries.invalidateQueries({ queryKey: ["documents", path.kb_id] });
  }
  const act = useMutation({
    mutationFn: (action: DocumentAction) => call(api.POST(PATHS[action], { params: { path } })),
    onSuccess: keep,
  });
  const change = useMutation({
    mutationFn: (body: DocumentChange) =>
      call(api.PUT("/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}", { params: { path }, body })),
    onSuccess: keep,
  });
  const remove = useMutation({
    mutationFn: () => callEmpty(api.DELETE("/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}", { params: { path } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["documents", path.kb_id, "list"] }),
  });
  return { act, change, remove };
}

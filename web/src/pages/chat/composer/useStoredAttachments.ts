/** What came with earlier questions: the agent's messages hold their words only. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, call } from "@/api/client";
import { authorizedFetch } from "@/api/session";
import { conversationOf } from "../conversations/conversations";
import { listOf, objectOf } from "../message/citations";
import type { ShownAttachment } from "./attachments";

const MOST_DAYS = 14;

async function readAttachments(threadId: string): Promise<Record<string, readonly ShownAttachment[]>> {
  const { items } = await call(
    api.GET("/api/v1/sessions/{session_id}/messages", {
      params: { path: { session_id: threadId }, query: { limit: 200 } },
    }),
  );
  const shown: Record<string, ShownAttachment[]> = {};
  let hasImages = false;
  for (const { id, metadata } of items) {
    const { attachments, documents } = metadata;
    hasImages ||= listOf(attachments).length > 0;
    const files = listOf(documents).map((entry) => {
      const { id: documentId, name, filename } = objectOf(entry);
      return {
        id: String(documentId ?? ""),
        name: String(name ?? filename ?? ""),
        kind: "document" as const,
        url: null,
      };
    });
    if (files.length > 0) shown[id] = files;
  }
  if (hasImages) await addImages(threadId, shown);
  return shown;
}

/** The history has signed links for the images, day by day. */
async function addImages(threadId: string, shown: Record<string, ShownAttachment[]>): Promise<void> {
  let before: string | null = null;
  for (let count = 0; count < MOST_DAYS; count++) {
    const query = new URLSearchParams({ threadId, ...(before ? { before } : {}) });
    const answer = await authorizedFetch(`/api/v1/agent/history?${query}`);
    if (!answer.ok) return;
    const day = objectOf(await answer.json());
    for (const entry of listOf(day.messages)) {
      const { id, attachments } = objectOf(entry);
      const images = listOf(attachments).map((image) => ({
        name: "",
        kind: "image" as const,
        url: ownLink(objectOf(image).url),
      }));
      if (images.length > 0) shown[String(id)] = [...images, ...(shown[String(id)] ?? [])];
    }
    if (day.hasMore !== true || typeof day.day !== "string") return;
    before = day.day;
  }
}

function ownLink(url: unknown): string | null {
  return typeof url === "string" && url.startsWith("/api/") ? url : null;
}

export function useStoredAttachments(threadId: string): void {
  const { data } = useQuery({
    queryKey: ["sessions", "attachments", threadId],
    queryFn: () => readAttachments(threadId),
    staleTime: 600_000,
  });
  useEffect(() => {
    if (data) conversationOf(threadId).showAttachments(data);
  }, [data, threadId]);
}

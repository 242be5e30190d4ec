/** The source beside the answer, which is in the address. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { ConversationView } from "../conversations/conversation";
import { type Citation, citationOf, factsOf, listOf } from "../message/citations";
import type { ThreadSearch } from "../routes";

export interface OpenedSource {
  opened: { messageId: string; number: number } | null;
  citation: Citation | null;
  open: (messageId: string, number: number) => void;
  close: () => void;
}

export function useOpenedSource(view: ConversationView): OpenedSource {
  const { source } = useSearch({ from: "/shell/conversations/chat/$threadId" });
  const navigate = useNavigate();
  const opened = useMemo(() => placeOf(source), [source]);
  const message = view.messages.find(({ id }) => id === opened?.messageId);
  const { evidence } = view.state;
  const citation = useMemo(() => {
    if (!opened || message?.role !== "assistant") return null;
    const { citations } = factsOf(message.metadata);
    const found = listOf(evidence).flatMap((entry) => citationOf(entry) ?? []);
    return [...citations, ...found].find(({ number }) => number === opened.number) ?? null;
  }, [opened, message, evidence]);
  const show = useCallback(
    (next: string | undefined) =>
      void navigate({
        to: ".",
        search: (before: ThreadSearch) => ({ ...before, source: next }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  const open = useCallback((messageId: string, number: number) => show(`${messageId}.${number}`), [show]);
  const close = useCallback(() => show(undefined), [show]);
  return { opened, citation, open, close };
}

function placeOf(source: string | undefined): OpenedSource["opened"] {
  const [, messageId, number] = /^(.+)\.(\d+)$/.exec(source ?? "") ?? [];
  return messageId && number ? { messageId, number: Number(number) } : null;
}

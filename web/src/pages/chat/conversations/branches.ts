/** Branches of a conversation: made by asking an earlier question in other words, and gone between by arrows. */
import { randomUUID } from "@ag-ui/client";
import { type QueryClient, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { api, call, callEmpty, type Schemas } from "@/api/client";
import type { ApiError } from "@/api/errors";
import { useErrorToast } from "@/components/feedback/toasts";
import { partsOf } from "../composer/attachments";
import type { BranchActions } from "../message/questionActions";
import type { ChatSearch } from "../routes";
import { type Direction, holdPlace } from "./branchPlace";
import type { Conversation, ConversationView } from "./conversation";
import { conversationOf, forget } from "./conversations";
import { type Session, sessionQuery } from "./sessions";

export type BranchPoint = Schemas["BranchPointAnswer"];

export function branchPointsQuery(threadId: string) {
  return queryOptions({
    queryKey: ["branches", threadId],
    queryFn: async (): Promise<readonly BranchPoint[]> => {
      const params = { path: { session_id: threadId } };
      return (await call(api.GET("/api/v1/sessions/{session_id}/branches", { params }))).items;
    },
  });
}

function createBranch(threadId: string, messageId: string): Promise<Session> {
  const params = { path: { session_id: threadId } };
  const body = { before_message_id: messageId };
  return call(api.POST("/api/v1/sessions/{session_id}/branches", { params, body }));
}

async function deleteBranch(id: string): Promise<void> {
  const params = { path: { session_id: id }, query: { scope: "branch" as const } };
  await callEmpty(api.DELETE("/api/v1/sessions/{session_id}", { params }));
}

/** A question that the server did not take up, in a branch that was made for it. */
class BranchRefused extends Error {
  constructor(
    readonly session: Session,
    readonly refusal: ApiError,
  ) {
    super(refusal.message);
  }
}

/** Make a branch before a question and ask another one in it, which streams on by itself; gives its thread. */
async function startBranch(queries: QueryClient, origin: Conversation, messageId: string, text: string) {
  const { threadId } = origin;
  const session = await createBranch(threadId, messageId);
  const { messages, attachments } = origin.view();
  const place = messages.findIndex(({ id }) => id === messageId);
  const parts = partsOf(messages[place]?.content, attachments[messageId]);
  const id = randomUUID();
  const branch = conversationOf(session.thread_id);
  branch.begin({
    messages: messages.slice(0, place),
    attachments: { ...attachments, [id]: attachments[messageId] ?? [] },
  });
  void branch.ask({ text, attachments: [], id, parts });
  const refusal = await branch.begun();
  if (refusal) {
    forget(session.thread_id);
    throw new BranchRefused(session, refusal);
  }
  queries.setQueryData(sessionQuery(session.thread_id).queryKey, session);
  notePoint(queries, threadId, { messageId, id, session });
  return session.thread_id;
}

interface NewQuestion {
  /** The question in whose place it is asked. */
  messageId: string;
  id: string;
  session: Session;
}

/** Show the new alternative before the server has its question. */
function notePoint(queries: QueryClient, threadId: string, { messageId, id, session }: NewQuestion): void {
  const points = queries.getQueryData(branchPointsQuery(threadId).queryKey) ?? [];
  const known = points.findIndex((point) => point.message_id === messageId);
  const before = known < 0 ? points : points.slice(0, known);
  const own = { message_id: messageId, session_id: session.conversation_id ?? "", thread_id: threadId };
  const alternatives = [
    ...(points[known]?.alternatives ?? [own]),
    { message_id: id, session_id: session.id, thread_id: session.thread_id },
  ];
  queries.setQueryData(branchPointsQuery(session.thread_id).queryKey, [...before, { message_id: id, alternatives }]);
  queries.setQueryData(branchPointsQuery(threadId).queryKey, [
    ...points.filter((point) => point.message_id !== messageId),
    { message_id: messageId, alternatives },
  ]);
}

/** Read another branch before it is shown, so that nothing flickers. */
async function readBranch(queries: QueryClient, threadId: string, messageId: string): Promise<void> {
  const branch = conversationOf(threadId);
  void branch.open();
  await Promise.all([
    branch.shows(messageId),
    queries.prefetchQuery(sessionQuery(threadId)),
    queries.prefetchQuery({ ...branchPointsQuery(threadId), staleTime: 0 }),
  ]);
}

/** What can be done with the questions of a conversation. */
export function useBranchActions(conversation: Conversation): BranchActions {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toast = useErrorToast();
  // Who asks too often may not delete at once, either.
  const { mutate: discard } = useMutation({ mutationFn: deleteBranch, retry: 5 });
  const toThread = useCallback(
    (threadId: string) =>
      navigate({
        to: "/chat/$threadId",
        params: { threadId },
        search: ({ find, archived }: ChatSearch) => ({ find, archived }),
      }),
    [navigate],
  );
  return useMemo(
    () => ({
      branch: async (messageId: string, text: string) => {
        try {
          await toThread(await startBranch(queries, conversation, messageId, text));
        } catch (error) {
          const isRefused = error instanceof BranchRefused;
          if (isRefused) discard(error.session.id);
          toast(isRefused ? error.refusal : error);
        }
      },
      go: async ({ message_id: messageId, thread_id: threadId }, direction: Direction, from: Element) => {
        await readBranch(queries, threadId, messageId);
        holdPlace({ threadId, messageId, direction, from });
        await toThread(threadId);
      },
    }),
    [queries, conversation, toThread, toast, discard],
  );
}

/** Read the points again when a run is over: only then it is sure that its question is kept. */
export function useFreshBranchPoints({ phase }: ConversationView): void {
  const queries = useQueryClient();
  const before = useRef(phase);
  useEffect(() => {
    if (phase === "idle" && before.current === "running") void queries.invalidateQueries({ queryKey: ["branches"] });
    before.current = phase;
  }, [phase, queries]);
}

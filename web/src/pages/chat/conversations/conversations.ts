/** The conversations of this tab: they go on while another page is shown. */
import { useSyncExternalStore } from "react";
import { isSignedIn, subscribe as subscribeSession } from "@/api/session";
import { Conversation, type ConversationView } from "./conversation";

const KEPT = 30;
const conversations = new Map<string, Conversation>();
const listeners = new Set<() => void>();
let running: ReadonlySet<string> = new Set();

// Nothing of one account is left for the next.
subscribeSession(() => {
  if (isSignedIn()) return;
  for (const conversation of conversations.values()) conversation.dispose();
  conversations.clear();
  noteRunning();
});

export function conversationOf(threadId: string): Conversation {
  const known = conversations.get(threadId);
  // Those looked at last stand at the end.
  conversations.delete(threadId);
  const conversation = known ?? new Conversation(threadId);
  conversations.set(threadId, conversation);
  if (!known) {
    conversation.subscribe(noteRunning);
    forgetIdle();
  }
  return conversation;
}

export function forget(threadId: string): void {
  conversations.get(threadId)?.dispose();
  conversations.delete(threadId);
  noteRunning();
}

function forgetIdle(): void {
  for (const [threadId, conversation] of conversations) {
    if (conversations.size <= KEPT) return;
    if (!conversation.isBusy) forget(threadId);
  }
}

function noteRunning(): void {
  const now = [...conversations].filter(([, { isBusy }]) => isBusy).map(([threadId]) => threadId);
  if (now.length === running.size && now.every((threadId) => running.has(threadId))) return;
  running = new Set(now);
  for (const listener of listeners) listener();
}

export function useConversation(threadId: string): ConversationView {
  const conversation = conversationOf(threadId);
  return useSyncExternalStore(conversation.subscribe, conversation.view);
}

/** The threads of this tab whose agents are at work. */
export function useRunningThreads(): ReadonlySet<string> {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => running,
  );
}

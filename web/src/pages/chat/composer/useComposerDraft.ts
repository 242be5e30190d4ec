/** What is being written in a conversation; a reload keeps its words. */
import { useCallback, useSyncExternalStore } from "react";

const PREFIX = "agentex.chat.draft.";
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function writeDraft(key: string, text: string): void {
  if (text) localStorage.setItem(PREFIX + key, text);
  else localStorage.removeItem(PREFIX + key);
  for (const listener of listeners) listener();
}

export function useComposerDraft(key: string): [string, (text: string) => void] {
  const text = useSyncExternalStore(subscribe, () => localStorage.getItem(PREFIX + key) ?? "");
  return [text, useCallback((next: string) => writeDraft(key, next), [key])];
}

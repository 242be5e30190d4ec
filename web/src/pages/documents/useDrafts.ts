/** Edits of passages that are not saved yet; they survive a reload. */
import { useCallback, useEffect, useState } from "react";

export interface ChunkDraft {
  content: string;
  /** Of the passage that was edited. */
  version: number;
}

export interface Drafts {
  of: (chunkId: string) => ChunkDraft | undefined;
  set: (chunkId: string, draft: ChunkDraft | null) => void;
}

export function useDrafts(documentId: string): Drafts {
  const key = `agentex.passage-drafts.${documentId}`;
  const [drafts, setDrafts] = useState<Readonly<Record<string, ChunkDraft>>>(() => read(key));
  useEffect(() => {
    if (Object.keys(drafts).length) sessionStorage.setItem(key, JSON.stringify(drafts));
    else sessionStorage.removeItem(key);
  }, [key, drafts]);
  const set = useCallback((chunkId: string, draft: ChunkDraft | null) => {
    setDrafts(({ [chunkId]: _, ...others }) => (draft ? { ...others, [chunkId]: draft } : others));
  }, []);
  return { of: (chunkId) => drafts[chunkId], set };
}

function read(key: string): Record<string, ChunkDraft> {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "{}") as Record<string, ChunkDraft>;
  } catch {
    return {};
  }
}

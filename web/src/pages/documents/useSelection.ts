/** The passage that an address or a citation points to. */
import { useQuery } from "@tanstack/react-query";
import { ApiError } from "@/api/errors";
import type { CharSpan, DocumentChunk } from "./passages";
import { type Chunks, chunkQuery } from "./queries";

export interface Selection {
  selected: DocumentChunk | null;
  /** Whether the passage is gone: the document was processed again since. */
  isGone: boolean;
}

export function useSelection(
  kbId: string,
  chunks: Chunks,
  chunkId: string | undefined,
  span: CharSpan | undefined,
): Selection {
  const loaded = chunkId ? chunks.items.find((chunk) => chunk?.id === chunkId) : undefined;
  const asked = useQuery({ ...chunkQuery(kbId, chunkId), enabled: chunkId !== undefined && !loaded });
  const there =
    span && chunks.items.find((chunk) => chunk && chunk.char_start <= span.start && span.start < chunk.char_end);
  const isGone = chunkId !== undefined && !loaded && asked.error instanceof ApiError && asked.error.status === 404;
  // What a new revision says at these offsets is something else.
  const found = chunkId === undefined ? there : (loaded ?? (isGone ? undefined : asked.data));
  return { selected: found ?? null, isGone };
}

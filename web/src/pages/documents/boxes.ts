/** Where passages stand on pages whose words can't be marked: scans and pictures. */
import type { Schemas } from "@/api/client";
import { type CharSpan, type DocumentChunk, quoteOf } from "./passages";

export type PassageBox = Schemas["PassageBox"];

/** The boxes of the quoted part of a passage; of a line that is quoted in part the whole. */
export function quotedBoxes(chunk: DocumentChunk, span: CharSpan | undefined): PassageBox[] {
  if (!span || quoteOf(chunk, span) === null) return [];
  return chunk.boxes.filter((box) => box.char_start < span.end && span.start < box.char_end);
}

/** The boxes on one page. */
export function boxesOn(boxes: readonly PassageBox[] | undefined, page: number): PassageBox[] {
  return boxes?.filter((box) => box.page === page) ?? [];
}

/** The passage whose smallest box holds a point of a page, in shares of it. */
export function chunkAt(
  chunks: readonly (DocumentChunk | undefined)[],
  page: number,
  x: number,
  y: number,
): DocumentChunk | undefined {
  let found: DocumentChunk | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const chunk of chunks)
    for (const box of boxesOn(chunk?.boxes, page)) {
      const holds = box.left <= x && x <= box.left + box.width && box.top <= y && y <= box.top + box.height;
      if (holds && box.width * box.height < least) [found, least] = [chunk, box.width * box.height];
    }
  return found;
}

/** Texts of passages: quoted spans of them, and what two in a row share. */
import type { Schemas } from "@/api/client";

export type DocumentChunk = Schemas["ChunkAnswer"];

/** Offsets in the document's extracted text, in characters as the server counts them (code points). */
export interface CharSpan {
  start: number;
  end: number;
}

/** Whether offsets of the extracted text tell places in the passage's text: not after an edit or in a cut table. */
function isSlice(chunk: DocumentChunk, characters: readonly string[]): boolean {
  return !chunk.edited && characters.length === chunk.char_end - chunk.char_start;
}

/** The quoted part of a passage; null where it is the whole passage or can't be told. */
export function quoteOf(chunk: DocumentChunk, span: CharSpan | undefined): string | null {
  if (!span) return null;
  const characters = [...chunk.content];
  if (!isSlice(chunk, characters)) return null;
  const start = Math.max(0, span.start - chunk.char_start);
  const end = Math.min(characters.length, span.end - chunk.char_start);
  if (start >= end || (start === 0 && end === characters.length)) return null;
  return characters.slice(start, end).join("");
}

/** A passage's text without what the one before it has shown already. */
export function withoutOverlap(chunk: DocumentChunk, before: DocumentChunk | undefined): string {
  const shared = before ? before.char_end - chunk.char_start : 0;
  if (shared <= 0 || !before?.enabled) return chunk.content;
  const characters = [...chunk.content];
  return isSlice(chunk, characters) ? characters.slice(shared).join("").trimStart() : chunk.content;
}

export type Block = { kind: "text"; text: string } | { kind: "table"; rows: string[][] };

/** Paragraphs of a text, and its tables: lines in a row with as many cells each, parted by " | ". */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let lines: string[] = [];
  const close = () => {
    if (lines.length) blocks.push({ kind: "text", text: lines.join("\n") });
    lines = [];
  };
  for (const line of text.split("\n")) {
    const cells = line.split(" | ");
    const last = blocks.at(-1);
    if (cells.length > 1) {
      if (!lines.length && last?.kind === "table" && last.rows[0]?.length === cells.length) last.rows.push(cells);
      else {
        close();
        blocks.push({ kind: "table", rows: [cells] });
      }
    } else if (line.trim()) lines.push(line);
    else close();
  }
  close();
  return blocks;
}

/** A passage's heading, where another one begins with it, and the text below it, which often repeats the heading. */
export function headed(
  chunk: DocumentChunk,
  before: DocumentChunk | undefined,
  text: string,
): { heading: string | null; text: string } {
  const heading = chunk.heading_path.at(-1);
  const isNew = chunk.heading_path.join("\n") !== before?.heading_path.join("\n");
  if (!heading || !isNew) return { heading: null, text };
  return { heading, text: text.startsWith(`${heading}\n`) ? text.slice(heading.length).trimStart() : text };
}

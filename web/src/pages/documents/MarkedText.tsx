/** Text of the original in which passages are marked, and picked by a click. */
import { createContext, type ReactNode, use, useEffect, useRef, useState } from "react";
import { locate, part, passageAt, type Reduced, reduce, type Span } from "./alignment";
import styles from "./marks.module.css";
import type { DocumentChunk } from "./passages";
import { type MarkName, mark, offsetAt, rangeOf, readSurface, reveal, type TextSurface } from "./textSurface";

export interface Marks {
  chunks: readonly (DocumentChunk | undefined)[];
  selected: DocumentChunk | null;
  hovered: DocumentChunk | null;
  /** The part of the selected passage that was quoted. */
  quote: string | null;
  /** The page to open where no passage is selected. */
  page: number | undefined;
  /** The page on which what was selected or quoted begins; null until that is known, absent where it is the passage's. */
  startPage?: number | null;
  /** Changes when the selected passage is to be brought into view once more. */
  visit: string;
  /** What was brought into view, by `revealKey`, so that nothing scrolls a second time. */
  revealed: { current: string | null };
  onPick: (chunk: DocumentChunk) => void;
  /** Is given the page on which the quote begins: its passage may begin on one before it. */
  onQuotePage?: ((page: number) => void) | undefined;
}

export const MarksContext = createContext<Marks | null>(null);

export function revealKey(chunk: DocumentChunk, visit: string): string {
  return `${chunk.id} ${visit}`;
}

export function useMarks(): Marks {
  const marks = use(MarksContext);
  if (!marks) throw new Error("no marks");
  return marks;
}

/** A passage begins on its page and may go on over these. */
export const MORE_PAGES = 3;

const reducedChunks = new WeakMap<DocumentChunk, Reduced>();

function reducedOf(chunk: DocumentChunk): Reduced {
  const known = reducedChunks.get(chunk) ?? reduce(chunk.content);
  reducedChunks.set(chunk, known);
  return known;
}

/** `version` changes when the text does; `page` is the page of the document that the text is of. */
export function MarkedText({
  version,
  page,
  className,
  children,
}: {
  version: unknown;
  page?: number;
  className?: string;
  children?: ReactNode;
}) {
  const root = useRef<HTMLDivElement>(null);
  const [surface, setSurface] = useState<TextSurface | null>(null);
  const { chunks, onPick, revealed, visit } = useMarks();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text changes with its version
  useEffect(() => {
    if (root.current) setSurface(readSurface(root.current));
  }, [version]);
  useSurfaceMarks(surface, page);

  function pick(event: { clientX: number; clientY: number }) {
    if (!surface || !window.getSelection()?.isCollapsed) return;
    const offset = offsetAt(surface, event.clientX, event.clientY);
    if (offset === null) return;
    const candidates = page === undefined ? chunks : chunks.map((chunk) => (near(chunk, page) ? chunk : undefined));
    const index = passageAt(
      surface.reduced,
      offset,
      candidates.map((chunk) => chunk && reducedOf(chunk)),
    );
    const chunk = chunks[index];
    if (!chunk) return;
    revealed.current = revealKey(chunk, visit);
    onPick(chunk);
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: by keyboard passages are chosen in their list
    // biome-ignore lint/a11y/useKeyWithClickEvents: by keyboard passages are chosen in their list
    <div ref={root} className={[styles.text, className].filter(Boolean).join(" ")} onClick={pick}>
      {children}
    </div>
  );
}

function near(chunk: DocumentChunk | undefined, page: number): boolean {
  return chunk?.page != null && chunk.page <= page && page <= chunk.page + MORE_PAGES;
}

function useSurfaceMarks(surface: TextSurface | null, page: number | undefined): void {
  const { chunks, selected, hovered, quote, startPage, revealed, visit } = useMarks();
  const count = chunks.length;
  useEffect(() => {
    if (!surface || !selected || (page !== undefined && !near(selected, page))) return;
    const spans = spansOf(surface, selected, page, count);
    const passage = show(surface, "document-chunk", spans);
    const quoted = show(surface, "document-quote", quote ? quoteSpans(surface, spans, quote) : []);
    const first = quoted.ranges[0] ?? passage.ranges[0];
    const isBeginning = page === undefined || page === (startPage === undefined ? selected.page : startPage);
    const key = revealKey(selected, visit);
    if (first && isBeginning && revealed.current !== key && reveal(first)) revealed.current = key;
    return () => {
      passage.hide();
      quoted.hide();
    };
  }, [surface, selected, quote, page, startPage, count, revealed, visit]);
  useEffect(() => {
    if (!surface || !hovered || (page !== undefined && !near(hovered, page))) return;
    return show(surface, "document-hover", spansOf(surface, hovered, page, count)).hide;
  }, [surface, hovered, page, count]);
}

/** Where a passage stands; a page says nothing of where on it. */
function spansOf({ reduced }: TextSurface, chunk: DocumentChunk, page: number | undefined, count: number): Span[] {
  return locate(reduced, chunk.content, page === undefined ? (chunk.position + 0.5) / Math.max(count, 1) : 0);
}

function quoteSpans({ reduced }: TextSurface, spans: readonly Span[], quote: string): Span[] {
  const [first, last] = [spans[0], spans.at(-1)];
  return first && last ? locate(part(reduced, { start: first.start, end: last.end }), quote) : [];
}

function show(surface: TextSurface, name: MarkName, spans: readonly Span[]) {
  const ranges = spans.flatMap((span) => rangeOf(surface, span) ?? []);
  return { ranges, hide: mark(name, ranges) };
}

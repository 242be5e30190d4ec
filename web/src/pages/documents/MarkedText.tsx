/** Text of the original in which passages are marked, and picked by a click. */
import { createContext, type ReactNode, use, useEffect, useMemo, useRef, useState } from "react";
import { locate, part, passageAt, type Reduced, reduce, type Span } from "./alignment";
import { chunkAt, type PassageBox } from "./boxes";
import styles from "./marks.module.css";
import { PassageBoxes } from "./PassageBoxes";
import type { DocumentChunk } from "./passages";
import { type MarkName, mark, offsetAt, rangeOf, readSurface, reveal, type TextSurface } from "./textSurface";

export interface Marks {
  chunks: readonly (DocumentChunk | undefined)[];
  selected: DocumentChunk | null;
  hovered: DocumentChunk | null;
  /** The part of the selected passage that was quoted. */
  quote: string | null;
  /** Where the quote stands, if the places of the passage's lines are known. */
  quotedBoxes: readonly PassageBox[];
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

/**
 * `version` changes when the text does; `page` is the page of the document that the text is of. A page `hasBoxes` once its
 * text is there: a passage that is not found in it is shown by the boxes of its lines.
 */
export function MarkedText({
  version,
  page,
  hasBoxes = false,
  className,
  children,
}: {
  version: unknown;
  page?: number;
  hasBoxes?: boolean;
  className?: string | undefined;
  children?: ReactNode;
}) {
  const root = useRef<HTMLDivElement>(null);
  const [surface, setSurface] = useState<TextSurface | null>(null);
  const { chunks, onPick, revealed, visit } = useMarks();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text changes with its version
  useEffect(() => {
    if (root.current) setSurface(readSurface(root.current));
  }, [version]);
  const isMarked = useSurfaceMarks(surface, page);

  function pick(event: { clientX: number; clientY: number }) {
    if (!window.getSelection()?.isCollapsed) return;
    const chunk = inText(event.clientX, event.clientY) ?? inBoxes(event.clientX, event.clientY);
    if (!chunk) return;
    revealed.current = revealKey(chunk, visit);
    onPick(chunk);
  }

  function inText(x: number, y: number): DocumentChunk | undefined {
    if (!surface) return undefined;
    const offset = offsetAt(surface, x, y);
    if (offset === null) return undefined;
    const candidates = page === undefined ? chunks : chunks.map((chunk) => (near(chunk, page) ? chunk : undefined));
    const index = passageAt(
      surface.reduced,
      offset,
      candidates.map((chunk) => chunk && reducedOf(chunk)),
    );
    return chunks[index];
  }

  function inBoxes(x: number, y: number): DocumentChunk | undefined {
    const area = root.current?.getBoundingClientRect();
    if (!hasBoxes || page === undefined || !area?.width) return undefined;
    return chunkAt(chunks, page, (x - area.left) / area.width, (y - area.top) / area.height);
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: by keyboard passages are chosen in their list
    // biome-ignore lint/a11y/useKeyWithClickEvents: by keyboard passages are chosen in their list
    <div ref={root} className={[styles.text, className].filter(Boolean).join(" ")} onClick={pick}>
      {children}
      {hasBoxes && page !== undefined && <PassageBoxes page={page} isMarked={isMarked} />}
    </div>
  );
}

function near(chunk: DocumentChunk | undefined, page: number): boolean {
  return chunk?.page != null && chunk.page <= page && page <= chunk.page + MORE_PAGES;
}

/** Mark passages in the text; returns which of them stand there. */
function useSurfaceMarks(surface: TextSurface | null, page: number | undefined) {
  const { chunks, selected, hovered, quote, startPage, revealed, visit } = useMarks();
  const count = chunks.length;
  const spans = useSpans(surface, selected, page, count);
  const hoveredSpans = useSpans(surface, hovered, page, count);
  useEffect(() => {
    if (!surface || !selected) return;
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
  }, [surface, selected, spans, quote, page, startPage, revealed, visit]);
  useEffect(() => {
    if (!surface) return;
    return show(surface, "document-hover", hoveredSpans).hide;
  }, [surface, hoveredSpans]);
  return { selected: spans.length > 0, hovered: hoveredSpans.length > 0 };
}

function useSpans(
  surface: TextSurface | null,
  chunk: DocumentChunk | null,
  page: number | undefined,
  count: number,
): Span[] {
  return useMemo(
    () =>
      !surface || !chunk || (page !== undefined && !near(chunk, page)) ? [] : spansOf(surface, chunk, page, count),
    [surface, chunk, page, count],
  );
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

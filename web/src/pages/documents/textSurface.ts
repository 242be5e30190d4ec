/** The text of a part of the page, found and marked without touching its elements. */
import { type Reduced, reduce, type Span } from "./alignment";

export interface TextSurface {
  root: HTMLElement;
  reduced: Reduced;
  nodes: Text[];
  /** Offset of each node in the whole text; one more entry for the end. */
  starts: number[];
}

export function readSurface(root: HTMLElement): TextSurface {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  const starts = [0];
  let text = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    nodes.push(node as Text);
    text += (node as Text).data;
    starts.push(text.length);
  }
  return { root, reduced: reduce(text), nodes, starts };
}

export function rangeOf({ nodes, starts }: TextSurface, { start, end }: Span): Range | null {
  const [first, last] = [nodeAt(starts, start), nodeAt(starts, end - 1)];
  const [from, to] = [nodes[first], nodes[last]];
  if (!from?.isConnected || !to?.isConnected) return null;
  const range = document.createRange();
  range.setStart(from, Math.min(from.length, start - (starts[first] ?? 0)));
  range.setEnd(to, Math.min(to.length, end - (starts[last] ?? 0)));
  return range;
}

/** The offset in the text of a point of the window; null where no text is. */
export function offsetAt({ root, nodes, starts }: TextSurface, x: number, y: number): number | null {
  const caret = caretAt(x, y);
  if (!caret || !root.contains(caret.node)) return null;
  const index = nodes.indexOf(caret.node as Text);
  if (index >= 0) return (starts[index] ?? 0) + caret.offset;
  // Between the lines of a PDF the browser finds an element; the line next to the point is meant.
  const near = nearestLine(nodes, x, y);
  return near < 0 ? null : (starts[near] ?? 0) + Math.floor((nodes[near]?.length ?? 0) / 2);
}

const MOST_LINES = 5000;
const NEAR_PX = 24;

function nearestLine(nodes: readonly Text[], x: number, y: number): number {
  let nearest = -1;
  let least = NEAR_PX;
  if (nodes.length > MOST_LINES) return nearest;
  nodes.forEach((node, index) => {
    const box = node.parentElement?.getBoundingClientRect();
    if (!box?.width || !node.data.trim()) return;
    const distance = Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
    if (distance < least) [nearest, least] = [index, distance];
  });
  return nearest;
}

function caretAt(x: number, y: number): { node: Node; offset: number } | null {
  if (document.caretPositionFromPoint) {
    const caret = document.caretPositionFromPoint(x, y);
    return caret && { node: caret.offsetNode, offset: caret.offset };
  }
  // Safari's name for it.
  const range = document.caretRangeFromPoint?.(x, y);
  return range ? { node: range.startContainer, offset: range.startOffset } : null;
}

function nodeAt(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

export type MarkName = "document-chunk" | "document-hover" | "document-quote";
const PRIORITIES: Record<MarkName, number> = { "document-hover": 0, "document-chunk": 1, "document-quote": 2 };

/** Mark ranges by the browser's own highlights; returns what takes the marks away. Old browsers mark nothing. */
export function mark(name: MarkName, ranges: readonly Range[]): () => void {
  if (!("highlights" in CSS)) return () => undefined;
  let highlight = CSS.highlights.get(name);
  if (!highlight) {
    highlight = new Highlight();
    highlight.priority = PRIORITIES[name];
    CSS.highlights.set(name, highlight);
  }
  const marked = highlight;
  for (const range of ranges) marked.add(range);
  return () => {
    for (const range of ranges) marked.delete(range);
  };
}

/** Scroll the nearest scrolling frame so that this is in its upper part; false when it isn't laid out. */
export function reveal(target: Range | Element): boolean {
  const element = target instanceof Range ? target.startContainer.parentElement : target;
  const frame = element?.closest<HTMLElement>("[data-scroll]");
  if (!frame) return false;
  const [at, view] = [target.getBoundingClientRect(), frame.getBoundingClientRect()];
  if (at.height === 0 && at.width === 0) return false;
  const left = at.left < view.left || at.right > view.right ? at.left - view.left - 16 : 0;
  const isShown = at.top >= view.top && at.bottom <= view.bottom;
  frame.scrollBy({ top: isShown ? 0 : at.top - view.top - view.height / 4, left });
  return true;
}

/** Where a passage's text stands in the text of the original, which is set and broken otherwise. */

/** A text reduced to its letters and digits, and where each of them stands in the text. */
export interface Reduced {
  text: string;
  /** Offset in the text of each character of `text`; one more entry for the end. */
  offsets: number[];
}

export interface Span {
  start: number;
  end: number;
}

const LETTER = /[\p{L}\p{N}]/u;
const FIRST_BEYOND_ASCII = 128;
// The regular expression takes most of the time of a long text.
const ASCII_LETTERS = Array.from({ length: FIRST_BEYOND_ASCII }, (_, code) => {
  const character = String.fromCharCode(code);
  return LETTER.test(character) ? character.toLowerCase() : "";
});
// Pieces that are looked for by themselves where a passage is not found in one stretch.
const PIECE = 24;
const LEAST = 6;
const MOST_ANCHORS = 40;

/** Signs, spaces and case are left out: the original has markup, line ends and hyphens that the passage has not. */
export function reduce(text: string): Reduced {
  const letters: string[] = [];
  const offsets: number[] = [];
  let at = 0;
  for (const character of text) {
    const code = character.charCodeAt(0);
    if (code < FIRST_BEYOND_ASCII) {
      const letter = ASCII_LETTERS[code];
      if (letter) {
        letters.push(letter);
        offsets.push(at);
      }
    } else if (LETTER.test(character)) {
      for (const part of character.normalize("NFKC").toLowerCase()) {
        if (!LETTER.test(part)) continue;
        letters.push(part);
        for (let unit = 0; unit < part.length; unit++) offsets.push(at);
      }
    }
    at += character.length;
  }
  offsets.push(at);
  return { text: letters.join(""), offsets };
}

/** The part of a text between two offsets, which still count from the text's beginning. */
export function part({ text, offsets }: Reduced, { start, end }: Span): Reduced {
  const [from, to] = [lowerBound(offsets, start), lowerBound(offsets, end)];
  return { text: text.slice(from, to), offsets: offsets.slice(from, to + 1) };
}

/**
 * The stretches of `original` that show `passage`, in its order; none when it is not there. Of several places the one
 * nearest to `share` of the text is taken.
 */
export function locate(original: Reduced, passage: string, share = 0): Span[] {
  const needle = reduce(passage).text;
  if (!needle) return [];
  const whole = nearestIndex(original.text, needle, share * original.text.length);
  if (whole >= 0) return [spanOf(original, whole, whole + needle.length)];
  return best(original, passage, needle.length).map(([start, end]) => spanOf(original, start, end));
}

function nearestIndex(text: string, needle: string, wanted: number): number {
  let nearest = text.indexOf(needle);
  for (let at = nearest; at >= 0 && at < wanted; at = text.indexOf(needle, at + 1)) nearest = at;
  const next = nearest >= 0 ? text.indexOf(needle, nearest + 1) : -1;
  return next >= 0 && Math.abs(next - wanted) < Math.abs(nearest - wanted) ? next : nearest;
}

type Range = [start: number, end: number];

function best(original: Reduced, passage: string, length: number): Range[] {
  const pieces = piecesOf(passage);
  const window = Math.ceil(length * 1.6) + 200;
  let found: Range[] = [];
  let most = 0;
  for (const base of bases(original.text, pieces)) {
    const ranges = inWindow(original.text, pieces, base, base + window);
    const covered = ranges.reduce((sum, [start, end]) => sum + end - start, 0);
    if (covered > most) [found, most] = [ranges, covered];
  }
  // A few common words in a row are not the passage.
  return most >= Math.min(length * 0.25, 120) ? together(original.text, found) : [];
}

/** Of several places for a part, the one nearest to the part behind it. */
function together(text: string, ranges: readonly Range[]): Range[] {
  const closer: Range[] = [];
  for (const [start, end] of [...ranges].reverse()) {
    const next = closer[0]?.[0];
    const at = next === undefined ? start : text.lastIndexOf(text.slice(start, end), next - (end - start));
    closer.unshift([Math.max(at, start), Math.max(at, start) + end - start]);
  }
  return closer;
}

interface AlignedPiece {
  text: string;
  /** Where it begins in the reduced passage. */
  at: number;
}

function piecesOf(passage: string): AlignedPiece[] {
  const pieces: AlignedPiece[] = [];
  let at = 0;
  for (const sentence of passage.split(/\n|(?<=[.!?。！？；;])/u)) {
    const { text } = reduce(sentence);
    for (let start = 0; start < text.length; start += PIECE) {
      const piece = text.slice(start, start + PIECE);
      pieces.push({ text: piece, at: at + start });
    }
    at += text.length;
  }
  return pieces;
}

/** Where the passage may begin: told by its longest pieces. */
function bases(text: string, pieces: readonly AlignedPiece[]): number[] {
  const anchors = [...pieces].filter((piece) => piece.text.length >= LEAST);
  anchors.sort((a, b) => b.text.length - a.text.length || a.at - b.at);
  const spread =
    anchors.length > 8 ? anchors.filter((_, index) => index % Math.ceil(anchors.length / 8) === 0) : anchors;
  const bases = new Set<number>();
  for (const { text: piece, at } of spread.length ? spread : pieces) {
    let from = text.indexOf(piece);
    for (let count = 0; from >= 0 && count < MOST_ANCHORS; count++) {
      bases.add(Math.max(0, from - at - 100));
      from = text.indexOf(piece, from + 1);
    }
  }
  return [...bases];
}

function inWindow(text: string, pieces: readonly AlignedPiece[], base: number, end: number): Range[] {
  const ranges: Range[] = [];
  const window = text.slice(base, end);
  let cursor = 0;
  for (const { text: piece } of pieces) {
    const at = window.indexOf(piece, cursor);
    // A short piece stands anywhere: it counts right behind the one before.
    if (at < 0 || (piece.length < LEAST && at - cursor > 2)) continue;
    const last = ranges.at(-1);
    if (last && last[1] === base + at) last[1] += piece.length;
    else ranges.push([base + at, base + at + piece.length]);
    cursor = at + piece.length;
  }
  return ranges;
}

function spanOf({ offsets }: Reduced, start: number, end: number): Span {
  return { start: offsets[start] ?? 0, end: (offsets[end - 1] ?? 0) + 1 };
}

/** The index of the passage that holds the text around `offset` of the original; -1 when none is known to. */
export function passageAt(original: Reduced, offset: number, passages: readonly (Reduced | undefined)[]): number {
  const at = lowerBound(original.offsets, offset);
  for (const reach of [40, 16, 8]) {
    const context = original.text.slice(Math.max(0, at - reach), at + reach);
    if (context.length < LEAST) continue;
    const holds = passages.flatMap((passage, index) => (passage?.text.includes(context) ? [index] : []));
    if (holds.length) return nearest(holds, at / original.text.length, passages.length);
  }
  return -1;
}

function nearest(indexes: readonly number[], share: number, count: number): number {
  const distance = (index: number) => Math.abs((index + 0.5) / count - share);
  return indexes.reduce((a, b) => (distance(b) < distance(a) ? b : a));
}

function lowerBound(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

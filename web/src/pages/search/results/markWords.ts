/** The words of a query found again in a text, for marking them. */

export interface MarkedPart {
  text: string;
  marked: boolean;
}

// Words that every English text has; to mark them would mark everything.
const COMMON = new Set(
  "a an and are as at be by can do does for from has have how i if in is it its may not of on or that the this to was what when where which who why will with you your".split(
    " ",
  ),
);
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

function words(text: string): { word: string; at: number }[] {
  const segments = new Intl.Segmenter("zh", { granularity: "word" }).segment(text);
  return [...segments]
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment, index }) => ({ word: segment.toLowerCase(), at: index }));
}

/** The word without its English ending, so that "backups" is found by "backup". */
function stem(word: string): string {
  const short = word.replace(/(ies|ied)$/, "y").replace(/(?:ing|edly|ed|es|s|e)$/, "");
  return short.length >= 3 ? short : word;
}

/** The text in parts, those marked that are words of the query. */
export function markWords(text: string, query: string): MarkedPart[] {
  const asked = words(query).map(({ word }) => word);
  const stems = new Set(asked.filter((word) => !CJK.test(word) && !COMMON.has(word)).map(stem));
  const spans = words(text)
    .filter(({ word }) => stems.has(stem(word)))
    .map(({ word, at }): [number, number] => [at, at + word.length]);
  return cut(text, [...spans, ...sharedRuns(text, query)]);
}

/** Runs of Chinese or Japanese characters that both have, the longest at each place; one character alone says little. */
function sharedRuns(text: string, query: string): [number, number][] {
  const runs: [number, number][] = [];
  let at = 0;
  while (at < text.length) {
    let end = at;
    while (end < text.length && CJK.test(text.charAt(end)) && query.includes(text.slice(at, end + 1))) end += 1;
    if (end - at > 1) runs.push([at, end]);
    at = Math.max(end, at + 1);
  }
  return runs;
}

function cut(text: string, spans: [number, number][]): MarkedPart[] {
  const parts: MarkedPart[] = [];
  let done = 0;
  for (const [start, end] of spans.sort(([a], [b]) => a - b)) {
    if (end <= done) continue;
    const from = Math.max(start, done);
    if (from > done) parts.push({ text: text.slice(done, from), marked: false });
    parts.push({ text: text.slice(from, end), marked: true });
    done = end;
  }
  if (done < text.length) parts.push({ text: text.slice(done), marked: false });
  return parts;
}

/** How much of a passage the one before it ends with. */

const MOST = 6000;

/** Length of the longest end of `before` that `text` begins with. */
export function overlapLength(before: string, text: string): number {
  const start = text.slice(0, MOST);
  const end = before.slice(-MOST);
  // Knuth, Morris and Pratt: how much of `start` is matched after each character of `end`.
  const fallback = fallbacks(start);
  let matched = 0;
  for (let index = 0; index < end.length; index++) {
    while (matched > 0 && (matched === start.length || end[index] !== start[matched]))
      matched = fallback[matched - 1] ?? 0;
    if (end[index] === start[matched]) matched++;
  }
  return matched;
}

function fallbacks(text: string): number[] {
  const table = [0];
  let matched = 0;
  for (let index = 1; index < text.length; index++) {
    while (matched > 0 && text[index] !== text[matched]) matched = table[matched - 1] ?? 0;
    if (text[index] === text[matched]) matched++;
    table.push(matched);
  }
  return table;
}

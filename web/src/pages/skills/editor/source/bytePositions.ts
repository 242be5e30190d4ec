/** Positions of the server's edits, which count UTF-8 bytes, as places in the editor's document. */

/**
 * A function from offsets in bytes to places in the document, in which each line break counts one.
 *
 * @param lineBreak what separates the document's lines
 */
export function bytePositions(text: string, lineBreak: string): (offset: number) => number {
  // ASCII alone with plain line breaks, as most English skills are, needs no table.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  if (lineBreak.length === 1 && /^[\x00-\x7f]*$/.test(text)) return (offset) => Math.min(offset, text.length);
  const starts: number[] = [];
  const places: number[] = [];
  let byte = 0;
  let place = 0;
  for (let index = 0; index < text.length; ) {
    starts.push(byte);
    places.push(place);
    if (lineBreak.length > 1 && text.startsWith(lineBreak, index)) {
      index += lineBreak.length;
      byte += lineBreak.length;
      place += 1;
      continue;
    }
    const code = text.codePointAt(index) ?? 0;
    const units = code > 0xffff ? 2 : 1;
    index += units;
    place += units;
    byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  starts.push(byte);
  places.push(place);
  return (offset) => places[lastAtMost(starts, offset)] ?? 0;
}

/** What separates the lines of a text, if one kind does; else line feeds, so that all other bytes stay as they are. */
export function lineBreakOf(text: string): "\n" | "\r\n" {
  const all = text.match(/\r\n|\r|\n/g);
  return all?.length && all.every((found) => found === "\r\n") ? "\r\n" : "\n";
}

/** The index of the last number that is not greater. */
function lastAtMost(numbers: readonly number[], wanted: number): number {
  let [low, high] = [0, numbers.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((numbers[middle] ?? 0) <= wanted) low = middle;
    else high = middle - 1;
  }
  return low;
}

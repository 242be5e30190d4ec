/** A long Markdown text in parts that mean the same one by one as together. */

const PART_LETTERS = 8000;
const HEADING = /^#{1,6}\s/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const DEFINITION = /^ {0,3}\[[^\]^][^\]]*\]:\s*\S.*$/;
// What goes on over headings, or is numbered through the whole text.
const WHOLE = /^\[\^[^\]]+\]:|^\s{0,3}<(?:!--|!\[CDATA|\?|pre\b|script\b|style\b|textarea\b)/im;

/** Parts of some thousand letters, cut before headings; each knows the link addresses that the whole text defines. */
export function markdownParts(text: string): string[] {
  if (text.length <= PART_LETTERS || WHOLE.test(text)) return [text];
  const parts: string[][] = [[]];
  const definitions: string[] = [];
  let length = 0;
  let fence = "";
  for (const line of text.split("\n")) {
    const sign = FENCE.exec(line)?.[1];
    if (!fence && length > PART_LETTERS && HEADING.test(line)) {
      parts.push([]);
      length = 0;
    }
    if (!fence && DEFINITION.test(line)) definitions.push(line);
    if (sign && !fence) fence = sign;
    else if (sign?.startsWith(fence) && line.trim() === sign) fence = "";
    parts.at(-1)?.push(line);
    length += line.length + 1;
  }
  const known = definitions.length ? `\n\n${definitions.join("\n")}` : "";
  return parts.map((lines) => lines.join("\n") + known);
}

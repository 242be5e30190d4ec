/** Strangers' texts without what changes how other text looks. */

/** Line ends, and marks that words and emoji of many languages need. */
const KEPT = "\n\r\t\u200c\u200d\u200e\u200f\u061c";

/** The text with each hidden character as its number, such as `\u202e`, so that nothing poses as something else. */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (character) =>
    KEPT.includes(character) ? character : `\\u${character.codePointAt(0)?.toString(16).padStart(4, "0")}`,
  );
}

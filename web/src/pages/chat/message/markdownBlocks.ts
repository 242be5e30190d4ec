/** Markdown cut into blocks that can be parsed apart from each other. */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const LIST_ITEM = /^\s*([-*+]|\d{1,9}[.)])\s/;

/**
 * The blocks of a text, in order; joined by blank lines they are the text again. Code, formulas and lists stay whole, so
 * that while a text grows only its last block changes.
 */
export function blocksOf(markdown: string): string[] {
  const blocks: string[] = [];
  let lines: string[] = [];
  let fence: string | null = null;
  let isFormula = false;
  const close = () => {
    if (lines.some((line) => line.trim())) blocks.push(lines.join("\n"));
    lines = [];
  };
  for (const line of markdown.split("\n")) {
    if (fence === null && !isFormula && line.trim() === "") {
      lines.push(line);
      continue;
    }
    if (fence === null && !isFormula && startsBlock(lines, line)) close();
    lines.push(line);
    const mark = FENCE.exec(line)?.[1];
    if (fence !== null) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = null;
    } else if (mark) fence = mark;
    else if (line.split("$$").length % 2 === 0) isFormula = !isFormula;
  }
  close();
  return blocks;
}

/** Whether a line behind what there is begins a block of its own. */
function startsBlock(lines: readonly string[], line: string): boolean {
  if (lines.at(-1)?.trim() !== "") return false;
  const first = lines.find((other) => other.trim()) ?? "";
  const isInList = LIST_ITEM.test(first);
  return !(isInList && (LIST_ITEM.test(line) || /^\s/.test(line)));
}

/** Write formulas as `$` has them, and let sums of money and variables be no formulas; code and addresses stay. */
export function prepareFormulas(markdown: string): string {
  return markdown
    .split(/(```[\s\S]*?(?:```|$)|`[^`\n]*`)/)
    .map((part, index) => (index % 2 ? part : rewriteFormulas(part)))
    .join("");
}

function rewriteFormulas(text: string): string {
  return text
    .replace(/\\\[([\s\S]+?)\\\]/g, (_, formula: string) => `\n$$\n${formula.trim()}\n$$\n`)
    .replace(/\\\((.+?)\\\)/g, (_, formula: string) => `$${formula.trim()}$`)
    .split(/(\$\$[\s\S]*?\$\$|\$(?=\S)[^$\n]*?[^\s$\\]\$(?![\w{])|https?:\/\/[^\s<>]+)/)
    .map((part, index) => (index % 2 ? part : part.replace(/(?<![\\$])\$(?!\$)/g, "\\$")))
    .join("");
}

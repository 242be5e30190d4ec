/** A remark plugin that makes citation numbers such as [1] elements of their own. */

interface Node {
  type: string;
  value?: string;
  children?: Node[];
  data?: { hName: string; hProperties: Record<string, string> };
}

const MARK = /\[(\d{1,4})\]/g;

/** Each `[n]` in running text becomes `<button value="n">`; no other button can come out of Markdown. */
export function citationMarks() {
  return (tree: Node): void => mark(tree);
}

function mark(node: Node): void {
  if (!node.children) return;
  node.children = node.children.flatMap((child) => {
    if (child.type === "text" && child.value) return partsOf(child.value);
    // A link's text stays one link.
    if (child.type !== "link") mark(child);
    return [child];
  });
}

function partsOf(text: string): Node[] {
  const parts: Node[] = [];
  let from = 0;
  for (const match of text.matchAll(MARK)) {
    // The blank before a number would let it stand alone in a line.
    const before = text.slice(from, match.index).replace(/ $/, "\u00a0");
    if (before) parts.push({ type: "text", value: before });
    const number = match[1] ?? "";
    parts.push({
      type: "citation",
      children: [{ type: "text", value: number }],
      data: { hName: "button", hProperties: { value: number } },
    });
    from = match.index + match[0].length;
  }
  const rest = text.slice(from);
  if (rest || parts.length === 0) parts.push({ type: "text", value: rest });
  return parts;
}

/** A remark plugin that ends bare links before Chinese punctuation, where GFM goes on to the next blank. */

interface Point {
  offset?: number;
}

interface Node {
  type: string;
  value?: string;
  url?: string;
  children?: Node[];
  position?: { start: Point; end: Point };
}

/** Punctuation of Chinese, Japanese and full width, which no address has unencoded. */
const PUNCTUATION = /[\u2018-\u201d\u2026\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]/;

/** What follows the punctuation becomes text again; links with words of their own stay as they are. */
export function bareLinks() {
  return (tree: Node): void => shorten(tree);
}

function shorten(node: Node): void {
  if (!node.children) return;
  node.children = node.children.flatMap((child) => {
    const text = bareText(child);
    const end = text?.search(PUNCTUATION) ?? -1;
    if (text === undefined || end < 0) {
      shorten(child);
      return [child];
    }
    const rest = text.slice(end);
    const url = child.url?.slice(0, child.url.length - rest.length);
    return [
      { ...child, url, children: [{ type: "text", value: text.slice(0, end) }] } as Node,
      { type: "text", value: rest },
    ];
  });
}

/** The text of a link that is written as its address alone. */
function bareText({ type, url, children, position }: Node): string | undefined {
  const text = children?.length === 1 ? children[0]?.value : undefined;
  if (type !== "link" || !text || !url?.endsWith(text)) return undefined;
  const length = (position?.end.offset ?? 0) - (position?.start.offset ?? 0);
  // Brackets around it would make it longer.
  return length === text.length ? text : undefined;
}

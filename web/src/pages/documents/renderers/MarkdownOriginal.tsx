/** Markdown with its headings, lists and tables; no raw HTML, no remote images. */
import { memo, useEffect, useMemo, useState } from "react";
import Markdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { bareLinks } from "@/components/bareLinks";
import { MarkedText } from "../MarkedText";
import { markdownParts } from "./markdownParts";
import type { RendererProps } from "./registry";
import styles from "./renderers.module.css";
import { useText } from "./useText";

const PLUGINS = [remarkGfm, bareLinks];
const FRONT_MATTER = /^---\n([\s\S]*?)\n(?:---|\.\.\.)(?:\n|$)/;
const WEB = /^(https?|mailto):/i;

// The page has headings of its own above these.
const COMPONENTS: Components = {
  h1: ({ children }) => <h3 className={styles.h1}>{children}</h3>,
  h2: ({ children }) => <h4 className={styles.h2}>{children}</h4>,
  h3: ({ children }) => <h5 className={styles.h3}>{children}</h5>,
  h4: ({ children }) => <h6 className={styles.h3}>{children}</h6>,
  h5: ({ children }) => <h6 className={styles.h3}>{children}</h6>,
  a: ({ href, children }) =>
    href && WEB.test(href) ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  img: ({ alt }) => <span className={styles.imageText}>{alt}</span>,
  table: ({ children }) => (
    <div className={styles.tableFrame}>
      <table>{children}</table>
    </div>
  ),
};

export function MarkdownOriginal(props: RendererProps) {
  const text = useText(props);
  const parts = useMemo(() => partsOf(text), [text]);
  const shown = useGrowingCount(parts);
  return (
    <MarkedText version={shown < parts.length ? undefined : text} className={styles.prose}>
      {parts.slice(0, shown).map(({ isFront, content }, index) =>
        isFront ? (
          <pre key="front">{content}</pre>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
          <Part key={index} text={content} />
        ),
      )}
    </MarkedText>
  );
}

interface MarkdownPart {
  isFront?: boolean;
  content: string;
}

function partsOf(text: string | undefined): MarkdownPart[] {
  if (text === undefined) return [];
  const front = FRONT_MATTER.exec(text);
  const parts = markdownParts(front ? text.slice(front[0].length) : text).map((content) => ({ content }));
  return front ? [{ isFront: true, content: front[1] ?? "" }, ...parts] : parts;
}

/** How many parts are drawn: one more after each pause, so that the page can be used meanwhile. */
function useGrowingCount(parts: readonly MarkdownPart[]): number {
  const [drawn, setDrawn] = useState<{ parts: readonly MarkdownPart[]; count: number }>({ parts, count: 1 });
  const count = drawn.parts === parts ? drawn.count : 1;
  useEffect(() => {
    if (count >= parts.length) return;
    const timer = setTimeout(() => setDrawn({ parts, count: count + 1 }));
    return () => clearTimeout(timer);
  }, [parts, count]);
  return Math.min(count, parts.length);
}

// Marks come and go with the pointer: the text is not rendered again for them.
const Part = memo(function Part({ text }: { text: string }) {
  return (
    <Markdown remarkPlugins={PLUGINS} components={COMPONENTS}>
      {text}
    </Markdown>
  );
});

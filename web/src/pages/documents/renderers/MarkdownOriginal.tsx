/** Markdown with its headings, lists and tables; no raw HTML, no remote images. */
import { memo } from "react";
import Markdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { MarkedText } from "../MarkedText";
import type { RendererProps } from "./registry";
import styles from "./renderers.module.css";
import { useText } from "./useText";

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
  return (
    <MarkedText version={text} className={styles.prose}>
      {text !== undefined && <Rendered text={text} />}
    </MarkedText>
  );
}

// Marks come and go with the pointer: the text is not rendered again for them.
const Rendered = memo(function Rendered({ text }: { text: string }) {
  const front = FRONT_MATTER.exec(text);
  return (
    <>
      {front && <pre>{front[1]}</pre>}
      <Markdown remarkPlugins={[remarkGfm]} components={COMPONENTS}>
        {front ? text.slice(front[0].length) : text}
      </Markdown>
    </>
  );
});

/** An answer's Markdown: tables, code and formulas, no HTML, no pictures from elsewhere. */
import "katex/dist/katex.min.css";
import { type ComponentProps, memo, useDeferredValue, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeHighlight from "rehype-highlight";
import rehypeKatex from "rehype-katex";
import remarkGfm from "remark-gfm";
import remarkMath from "remark-math";
import { CitationButton } from "./CitationButton";
import { CodeBlock } from "./CodeBlock";
import { citationMarks } from "./citationMarks";
import styles from "./Markdown.module.css";
import { blocksOf, prepareFormulas } from "./markdownBlocks";

const REMARK = [remarkGfm, remarkMath, citationMarks];
const REHYPE: ComponentProps<typeof ReactMarkdown>["rehypePlugins"] = [
  [rehypeKatex, { throwOnError: false, trust: false, maxExpand: 100 }],
  [rehypeHighlight, { detect: false }],
];

const COMPONENTS: Components = {
  a: ({ href, children }) => <OutsideLink href={href}>{children}</OutsideLink>,
  img: ({ src, alt }) => <OutsideLink href={typeof src === "string" ? src : undefined}>{alt || src}</OutsideLink>,
  button: ({ value }) => <CitationButton number={Number(value)} />,
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  table: ({ children }) => (
    <div className={styles.table}>
      <table>{children}</table>
    </div>
  ),
};

export default function Markdown({ text }: { text: string }) {
  // Typing goes before drawing while an answer streams.
  const settled = useDeferredValue(text);
  const blocks = useMemo(() => blocksOf(prepareFormulas(settled)), [settled]);
  return (
    <div className={styles.markdown}>
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a block is its place, and keeps it
        <Block key={index} text={block} />
      ))}
    </div>
  );
}

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <ReactMarkdown skipHtml={false} remarkPlugins={REMARK} rehypePlugins={REHYPE} components={COMPONENTS}>
      {text}
    </ReactMarkdown>
  );
});

function OutsideLink({ href, children }: Pick<ComponentProps<"a">, "href" | "children">) {
  if (!href || !/^(https?:|mailto:)/i.test(href)) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

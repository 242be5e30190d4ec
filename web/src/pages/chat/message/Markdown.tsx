/** An answer's Markdown: tables, code and formulas, no HTML, no pictures from elsewhere. */
import "katex/dist/katex.min.css";
import {
  type ComponentProps,
  isValidElement,
  memo,
  type ReactNode,
  useDeferredValue,
  useEffect,
  useMemo,
  useState,
} from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeHighlight from "rehype-highlight";
import remarkGfm from "remark-gfm";
import remarkMath from "remark-math";
import { bareLinks } from "@/components/bareLinks";
import { CitationButton } from "./CitationButton";
import { CodeBlock } from "./CodeBlock";
import { citationMarks } from "./citationMarks";
import { Formula } from "./Formula";
import styles from "./Markdown.module.css";
import { blocksOf, prepareFormulas } from "./markdownBlocks";
import { OutsideLink } from "./OutsideLink";

const REMARK = [remarkGfm, bareLinks, remarkMath, citationMarks];
// Made once: it registers some forty languages, which takes longer than most blocks.
const highlight = rehypeHighlight({ detect: false });
const REHYPE: ComponentProps<typeof ReactMarkdown>["rehypePlugins"] = [() => highlight];
/** Blocks that are formatted in one frame; the others wait as plain text. */
const BLOCKS_AT_ONCE = 8;

const MANY_BLOCKS = 60;

const COMPONENTS: Components = {
  a: ({ href, children }) => <OutsideLink href={href}>{children}</OutsideLink>,
  img: ({ src, alt }) => <OutsideLink href={typeof src === "string" ? src : undefined}>{alt || src}</OutsideLink>,
  button: ({ value }) => <CitationButton number={Number(value)} />,
  code: ({ className, children }) =>
    /\blanguage-math\b/.test(className ?? "") ? (
      <Formula tex={String(children)} display={/\bmath-display\b/.test(className ?? "")} />
    ) : (
      <code className={className}>{children}</code>
    ),
  pre: ({ children }) => (isDisplayFormula(children) ? children : <CodeBlock>{children}</CodeBlock>),
  table: ({ children }) => (
    <div className={styles.table}>
      <table>{children}</table>
    </div>
  ),
};

function isDisplayFormula(children: ReactNode): boolean {
  return isValidElement<{ className?: string }>(children) && /\bmath-display\b/.test(children.props.className ?? "");
}

export default function Markdown({ text }: { text: string }) {
  // Typing goes before drawing while an answer streams.
  const settled = useDeferredValue(text);
  const blocks = useMemo(() => blocksOf(prepareFormulas(settled)), [settled]);
  const count = useGrowingCount(blocks.length);
  return (
    <div className={blocks.length > MANY_BLOCKS ? `${styles.markdown} ${styles.long}` : styles.markdown}>
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a block is its place, and keeps it
        <Block key={index} text={block} plain={index >= count} />
      ))}
    </div>
  );
}

/** Grows with the frames until it has reached the number of all. */
function useGrowingCount(all: number): number {
  const [count, setCount] = useState(BLOCKS_AT_ONCE);
  const isShort = count < all;
  // biome-ignore lint/correctness/useExhaustiveDependencies: one step follows the other
  useEffect(() => {
    if (!isShort) return;
    const frame = requestAnimationFrame(() => setCount((before) => before + BLOCKS_AT_ONCE));
    return () => cancelAnimationFrame(frame);
  }, [isShort, count]);
  return count;
}

const Block = memo(function Block({ text, plain }: { text: string; plain: boolean }) {
  if (plain) return <p className={`${styles.block} ${styles.plain}`}>{text}</p>;
  return (
    <div dir="auto" className={styles.block}>
      <ReactMarkdown skipHtml={false} remarkPlugins={REMARK} rehypePlugins={REHYPE} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

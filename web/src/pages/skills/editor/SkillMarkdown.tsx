/** Markdown of a skill or of an answer: no HTML, no pictures of other servers, links that leave safely. */
import Markdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { bareLinks } from "@/components/bareLinks";
import styles from "./SkillMarkdown.module.css";

const SAFE = /^(https?:|mailto:)/i;
const PLUGINS = [remarkGfm, bareLinks];

const COMPONENTS: Components = {
  a: ({ href, children }) =>
    href && SAFE.test(href) ? (
      // What a link carries away is to be seen before.
      <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    ) : (
      // A file beside the skill: it has no address of its own.
      <span title={href}>{children}</span>
    ),
  img: ({ alt }) => <span>{alt}</span>,
  // The page has its own first heading.
  h1: ({ children }) => <h2>{children}</h2>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
  table: ({ children }) => (
    <div className={styles.table}>
      <table>{children}</table>
    </div>
  ),
};

export function SkillMarkdown({ text }: { text: string }) {
  return (
    <div className={styles.body}>
      <Markdown remarkPlugins={PLUGINS} components={COMPONENTS} skipHtml>
        {text}
      </Markdown>
    </div>
  );
}

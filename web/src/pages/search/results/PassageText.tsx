/** A passage's text with the query's words marked; a long one is cut until somebody wants to read on. */
import { useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { markWords } from "./markWords";
import styles from "./PassageText.module.css";

interface Context {
  chunk_id: string;
  content: string;
}

/** The text without the heading that stands above it already, and with one line end between paragraphs. */
function bodyOf(text: string, heading: string | undefined): string {
  const body = heading && text.startsWith(`${heading}\n`) ? text.slice(heading.length) : text;
  return body.trim().replace(/\n{2,}/g, "\n");
}

export function PassageText({
  text,
  heading,
  query,
  before = [],
  after = [],
}: {
  text: string;
  /** The heading that is shown above it. */
  heading?: string | undefined;
  query: string;
  before?: readonly Context[];
  after?: readonly Context[];
}) {
  const { t } = useTranslation("search");
  const [open, setOpen] = useState(false);
  const [long, setLong] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const context = before.length + after.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text has another height
  useLayoutEffect(() => {
    const element = box.current;
    if (element && !open) setLong(element.scrollHeight > element.clientHeight + 4);
  }, [text, open, context]);
  return (
    <div>
      <div ref={box} className={open || context ? styles.whole : styles.cut}>
        {before.map(({ chunk_id, content }) => (
          <p key={chunk_id} className={styles.context}>
            {content}
          </p>
        ))}
        <p>
          <Marked text={bodyOf(text, heading)} query={query} />
        </p>
        {after.map(({ chunk_id, content }) => (
          <p key={chunk_id} className={styles.context}>
            {content}
          </p>
        ))}
      </div>
      {(long || open) && !context && (
        <Button size="s" variant="ghost" className={styles.more} aria-expanded={open} onClick={() => setOpen(!open)}>
          {t(open ? "hit.less" : "hit.more")}
        </Button>
      )}
    </div>
  );
}

export function Marked({ text, query }: { text: string; query: string }) {
  return markWords(text, query).map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no other identity
    part.marked ? <mark key={index}>{part.text}</mark> : part.text,
  );
}

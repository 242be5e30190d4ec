/** The text that was read of a file, passage by passage: for formats that no browser shows safely. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { revealKey, useMarks } from "../MarkedText";
import { type DocumentChunk, headed, withoutOverlap } from "../passages";
import type { Chunks } from "../queries";
import { Blocks } from "./Blocks";
import styles from "./renderers.module.css";

export function PassageOriginal({ chunks }: { chunks: Chunks }) {
  const { selected, hovered, quote, revealed, visit, onPick } = useMarks();
  const frame = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: chunks.total ?? 0,
    getScrollElement: () => frame.current,
    estimateSize: () => 220,
    overscan: 3,
  });
  const shown = rows.getVirtualItems();
  const [first, last] = [shown[0]?.index ?? 0, shown.at(-1)?.index ?? 0];
  const isLaidOut = shown.length > 0;
  const { want } = chunks;
  useEffect(() => want(Math.max(0, first - 1), last), [want, first, last]);
  useEffect(() => {
    if (!selected || !isLaidOut || revealed.current === revealKey(selected, visit)) return;
    revealed.current = revealKey(selected, visit);
    rows.scrollToIndex(selected.position, { align: "start" });
  }, [selected, revealed, visit, isLaidOut, rows]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div ref={frame} className={styles.passages} data-scroll tabIndex={0}>
      <div style={{ height: rows.getTotalSize() }} className={styles.rows}>
        {shown.map((row) => {
          const chunk = chunks.items[row.index];
          return (
            <div
              key={row.key}
              ref={rows.measureElement}
              data-index={row.index}
              style={{ transform: `translateY(${row.start}px)` }}
              className={styles.row}
            >
              {chunk ? (
                <Passage
                  chunk={chunk}
                  before={chunks.items[row.index - 1]}
                  isSelected={chunk.id === selected?.id}
                  isHovered={chunk.id === hovered?.id}
                  quote={chunk.id === selected?.id ? quote : null}
                  onPick={() => {
                    revealed.current = revealKey(chunk, visit);
                    onPick(chunk);
                  }}
                />
              ) : (
                <p className={styles.waiting} aria-hidden />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface PassageProps {
  chunk: DocumentChunk;
  before: DocumentChunk | undefined;
  isSelected: boolean;
  isHovered: boolean;
  quote: string | null;
  onPick: () => void;
}

function Passage({ chunk, before, isSelected, isHovered, quote, onPick }: PassageProps) {
  const { heading, text } = headed(chunk, before, withoutOverlap(chunk, before));
  const at = quote ? text.indexOf(quote) : -1;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: by keyboard passages are chosen in their list
    // biome-ignore lint/a11y/useKeyWithClickEvents: by keyboard passages are chosen in their list
    <div
      className={[
        styles.passage,
        isHovered && styles.hovered,
        isSelected && styles.selected,
        !chunk.enabled && styles.off,
      ]
        .filter(Boolean)
        .join(" ")}
      onClick={onPick}
    >
      {heading && <h3 className={styles.h2}>{heading}</h3>}
      {quote && at >= 0 ? (
        <p className={styles.paragraph}>
          {text.slice(0, at)}
          <mark>{quote}</mark>
          {text.slice(at + quote.length)}
        </p>
      ) : (
        <Blocks text={text} />
      )}
    </div>
  );
}

/** The passages of a document; only those in view are on the page. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { ListX } from "lucide-react";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { CheckboxField } from "@/components/forms/Field";
import { Skeleton } from "@/components/layout/Page";
import { formatNumber } from "@/i18n/format";
import type { CharSpan, DocumentChunk } from "../passages";
import type { Chunks } from "../queries";
import { useDrafts } from "../useDrafts";
import { ChunkCard } from "./ChunkCard";
import styles from "./ChunkList.module.css";

interface Props {
  documentId: string;
  chunks: Chunks;
  selected: DocumentChunk | null;
  span: CharSpan | undefined;
  isWritable: boolean;
  /** Whether only passages that were edited or switched off are shown. */
  isChanged: boolean;
  onChanged: (changed: boolean) => void;
  onSelect: (chunk: DocumentChunk) => void;
  /** Select a passage and, on a small screen, go to the original. */
  onShow: (chunk: DocumentChunk) => void;
  onHover: (chunk: DocumentChunk | null) => void;
}

export function ChunkList(props: Props) {
  const { t } = useTranslation("documents");
  const { chunks, isChanged, onChanged } = props;
  const { total } = chunks;
  return (
    <div className={styles.list}>
      <div className={styles.bar}>
        <h2 className={styles.title}>
          {total === undefined ? t("chunk.title") : t("chunk.count", { count: total, formatted: formatNumber(total) })}
        </h2>
        <CheckboxField label={t("chunk.only_changed")} checked={isChanged} onChange={onChanged} />
      </div>
      {chunks.error !== null && <ErrorNotice error={chunks.error} onRetry={chunks.retry} />}
      {total === undefined && chunks.error === null && (
        <div className={styles.waiting}>
          <Skeleton lines={8} />
        </div>
      )}
      {total === 0 && (
        <EmptyState icon={ListX} title={t(isChanged ? "chunk.none_changed" : "chunk.none")}>
          {t(isChanged ? "chunk.none_changed_hint" : "chunk.none_hint")}
        </EmptyState>
      )}
      {total !== undefined && total > 0 && <Cards {...props} key={String(isChanged)} />}
    </div>
  );
}

function Cards({ documentId, chunks, selected, span, isWritable, onSelect, onShow, onHover }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const drafts = useDrafts(documentId);
  const cards = useVirtualizer({
    count: chunks.total ?? 0,
    getScrollElement: () => frame.current,
    estimateSize: () => 210,
    overscan: 4,
    gap: 12,
    paddingStart: 12,
    paddingEnd: 12,
  });
  const shown = cards.getVirtualItems();
  const [first, last] = [shown[0]?.index ?? 0, shown.at(-1)?.index ?? 0];
  const { want, items } = chunks;
  useEffect(() => want(first, last), [want, first, last]);
  useReveal(selected, items, shown.length > 0, (index) => cards.scrollToIndex(index, { align: "center" }));
  return (
    <div ref={frame} className={styles.frame}>
      <ol style={{ height: cards.getTotalSize() }} className={styles.cards}>
        {shown.map(({ key, index, start }) => {
          const chunk = items[index];
          return (
            <li
              key={key}
              ref={cards.measureElement}
              data-index={index}
              aria-posinset={index + 1}
              aria-setsize={chunks.total}
              className={styles.item}
              style={{ transform: `translateY(${start}px)` }}
            >
              {chunk ? (
                <ChunkCard
                  chunk={chunk}
                  isSelected={chunk.id === selected?.id}
                  isWritable={isWritable}
                  span={span}
                  draft={drafts.of(chunk.id)}
                  onDraft={drafts.set}
                  onSelect={onSelect}
                  onShow={onShow}
                  onHover={onHover}
                />
              ) : (
                <div className={styles.card}>
                  <Skeleton lines={4} />
                </div>
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** Scroll to the selected passage when another one is selected. */
function useReveal(
  selected: DocumentChunk | null,
  items: Chunks["items"],
  isLaidOut: boolean,
  scrollTo: (index: number) => void,
): void {
  const shown = useRef<string | null>(null);
  useEffect(() => {
    if (!selected || !isLaidOut || shown.current === selected.id) return;
    const loaded = items.findIndex((chunk) => chunk?.id === selected.id);
    const index = loaded >= 0 ? loaded : items.length > selected.position ? selected.position : -1;
    if (index < 0) return;
    // What is not loaded has another height: it is scrolled to once more.
    if (loaded >= 0) shown.current = selected.id;
    scrollTo(index);
  });
}

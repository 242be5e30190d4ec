/** The original of a document: its file as it is where that can be shown, otherwise the text that was read of it. */
import { useQuery } from "@tanstack/react-query";
import { FileQuestion } from "lucide-react";
import { Suspense, useCallback, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { Skeleton } from "@/components/layout/Page";
import { quotedBoxes } from "./boxes";
import { type Marks, MarksContext } from "./MarkedText";
import styles from "./OriginalView.module.css";
import { type CharSpan, type DocumentChunk, quoteOf } from "./passages";
import { type Chunks, contentQuery, type DocumentAnswer } from "./queries";
import { PassageOriginal } from "./renderers/PassageOriginal";
import { type Renderer, type RendererProps, rendererOf } from "./renderers/registry";

export interface OriginalViewProps {
  document: DocumentAnswer;
  chunks: Chunks;
  selected: DocumentChunk | null;
  hovered?: DocumentChunk | null;
  /** The quoted part of the selected passage. */
  span?: CharSpan | undefined;
  /** The page to open where no passage is selected. */
  page?: number | undefined;
  /** Changes when the selected passage is to be brought into view once more. */
  visit?: string;
  onPick: (chunk: DocumentChunk) => void;
  /** Is given the page on which the quoted part begins, where there are pages. */
  onQuotePage?: ((page: number) => void) | undefined;
}

export function OriginalView({
  document,
  chunks,
  selected,
  hovered = null,
  span,
  page,
  visit = "",
  onPick,
  onQuotePage,
}: OriginalViewProps) {
  const { t } = useTranslation("documents");
  const revealed = useRef<string | null>(null);
  const [failed, setFailed] = useState<string>();
  const fail = useCallback(() => setFailed(document.sha256), [document.sha256]);
  const renderer = failed === document.sha256 ? null : rendererOf(document);
  const { items } = chunks;
  const marks = useMemo<Marks>(
    () => ({
      chunks: items,
      selected,
      hovered,
      quote: selected && quoteOf(selected, span),
      quotedBoxes: selected ? quotedBoxes(selected, span) : [],
      page,
      visit,
      revealed,
      onPick,
      onQuotePage,
    }),
    [items, selected, hovered, span, page, visit, onPick, onQuotePage],
  );
  return (
    <MarksContext value={marks}>
      {renderer ? (
        <FileView document={document} renderer={renderer} onFailure={fail} />
      ) : chunks.total === 0 ? (
        <EmptyState icon={FileQuestion} title={t("original.none")}>
          {t("original.none_hint")}
        </EmptyState>
      ) : (
        <div className={styles.read}>
          <p className={styles.note}>{t(failed ? "original.failed" : "original.as_read")}</p>
          {chunks.total === undefined ? <Skeleton lines={10} /> : <PassageOriginal chunks={chunks} />}
        </div>
      )}
    </MarksContext>
  );
}

interface FileViewProps extends Omit<RendererProps, "file"> {
  renderer: Renderer;
}

function FileView({ document, renderer, onFailure }: FileViewProps) {
  const { data, error, refetch } = useQuery(contentQuery(document));
  const { component: Original } = renderer;
  const waiting = (
    <div className={styles.waiting}>
      <Skeleton lines={12} />
    </div>
  );
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (!data) return waiting;
  return (
    <Suspense fallback={waiting}>
      {document.media_type === "application/pdf" ? (
        <Original document={document} file={data} onFailure={onFailure} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <div className={styles.scroll} data-scroll tabIndex={0}>
          <Original document={document} file={data} onFailure={onFailure} />
        </div>
      )}
    </Suspense>
  );
}

/** A document at a passage, to stand beside an answer; it knows nothing of the page that it is on. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { Skeleton } from "@/components/layout/Page";
import styles from "./DocumentPreview.module.css";
import { OriginalView } from "./OriginalView";
import type { CharSpan, DocumentChunk } from "./passages";
import { type DocumentAnswer, documentQuery, useChunks } from "./queries";
import { useSelection } from "./useSelection";

export interface DocumentPreviewProps {
  kbId: string;
  documentId: string;
  chunkId?: string | undefined;
  /** The quoted part, in characters of the document's extracted text. */
  span?: CharSpan | undefined;
  page?: number | undefined;
  /** Is given the page on which the quoted part begins, where there are pages. */
  onQuotePage?: ((page: number) => void) | undefined;
}

/** It takes the height that it is given. */
export function DocumentPreview(props: DocumentPreviewProps) {
  const { data, error, refetch } = useQuery(documentQuery(props.kbId, props.documentId));
  if (data) return <Preview {...props} key={`${data.id} ${props.chunkId}`} document={data} />;
  return error ? <ErrorNotice error={error} onRetry={() => void refetch()} /> : <Skeleton lines={10} />;
}

function Preview({
  kbId,
  document,
  chunkId,
  span,
  page,
  onQuotePage,
}: DocumentPreviewProps & { document: DocumentAnswer }) {
  const { t } = useTranslation("documents");
  const chunks = useChunks(document);
  const { selected, isGone } = useSelection(kbId, chunks, chunkId, span);
  const [picked, setPicked] = useState<DocumentChunk | null>(null);
  return (
    <div className={styles.preview}>
      {isGone && <Notice tone="warning">{t("page.gone")}</Notice>}
      <div className={styles.original}>
        <OriginalView
          document={document}
          chunks={chunks}
          selected={picked ?? selected}
          span={picked ? undefined : span}
          page={page}
          onPick={setPicked}
          onQuotePage={onQuotePage}
        />
      </div>
    </div>
  );
}

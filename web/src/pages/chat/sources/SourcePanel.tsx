/** The source of a citation, beside the answer. */
import { Link } from "@tanstack/react-router";
import { ExternalLink, X } from "lucide-react";
import { lazy, type RefObject, Suspense, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "@/components/Button";
import { Skeleton } from "@/components/layout/Page";
import type { Citation } from "../message/citations";
import styles from "./SourcePanel.module.css";

const DocumentPreview = lazy(() =>
  import("@/pages/documents/DocumentPreview").then((module) => ({ default: module.DocumentPreview })),
);

export function SourcePanel({ citation, onClose }: { citation: Citation; onClose: () => void }) {
  const { t } = useTranslation(["chat", "common"]);
  const panel = useRef<HTMLElement>(null);
  const { knowledgeBaseId, documentId, chunkId, documentName, headings, page, number } = citation;
  const isStored = knowledgeBaseId !== "";
  const place = `${documentId}-${chunkId}-${citation.start}`;
  const [quotePage, onQuotePage] = useQuotePage(place);
  const shownPage = quotePage ?? page;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each source that is opened is read from its beginning
  useEffect(() => panel.current?.focus({ preventScroll: true }), [documentId, chunkId, number]);
  useFocusBack(panel);
  return (
    <aside
      ref={panel}
      tabIndex={-1}
      className={styles.panel}
      aria-label={t("sources.panel")}
      onKeyDown={(event) => event.key === "Escape" && onClose()}
    >
      <header className={styles.header}>
        <span className={styles.number}>{number}</span>
        <div className={styles.heading}>
          <h2>{documentName}</h2>
          <p>
            {[shownPage !== null && t("sources.page", { page: shownPage }), ...headings].filter(Boolean).join(" › ")}
          </p>
        </div>
        {isStored && (
          <Link
            to="/knowledge-bases/$kbId/documents/$documentId"
            params={{ kbId: knowledgeBaseId, documentId }}
            search={{ chunk: chunkId }}
            className={styles.link}
            aria-label={t("sources.document")}
            title={t("sources.document")}
          >
            <ExternalLink size={18} aria-hidden />
          </Link>
        )}
        <IconButton icon={X} label={t("common:action.close")} onClick={onClose} />
      </header>
      {isStored ? (
        <div className={styles.preview}>
          <Suspense fallback={<Skeleton lines={8} />}>
            <DocumentPreview
              key={place}
              kbId={knowledgeBaseId}
              documentId={documentId}
              chunkId={chunkId || undefined}
              span={{ start: citation.start, end: citation.end }}
              page={page ?? undefined}
              onQuotePage={onQuotePage}
            />
          </Suspense>
        </div>
      ) : (
        <blockquote className={styles.quote}>{citation.quote || t("sources.no_quote")}</blockquote>
      )}
    </aside>
  );
}

/** The page on which the quote was found; the citation of a passage that was edited knows only where that begins. */
function useQuotePage(place: string): [number | null, (page: number) => void] {
  const [found, setFound] = useState<{ place: string; page: number } | null>(null);
  const note = useCallback((page: number) => setFound({ place, page }), [place]);
  return [found?.place === place ? found.page : null, note];
}

/** Gives the focus back to what had it before, such as the number in the answer, if the panel has it when it closes. */
function useFocusBack(panel: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const element = panel.current;
    return () => {
      if (opener instanceof HTMLElement && element?.contains(document.activeElement))
        opener.focus({ preventScroll: true });
    };
  }, [panel]);
}

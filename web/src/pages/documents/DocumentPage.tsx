/** A document: the original and its passages side by side. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { Page, Skeleton, useTitle } from "@/components/layout/Page";
import { knowledgeBaseQuery } from "@/pages/knowledge/queries";
import { ChunkList } from "./chunks/ChunkList";
import { DocumentHeader } from "./DocumentHeader";
import styles from "./DocumentPage.module.css";
import { DocumentState } from "./details/DocumentState";
import { OriginalView } from "./OriginalView";
import type { DocumentChunk } from "./passages";
import { type DocumentAnswer, documentQuery, useChunks } from "./queries";
import type { PassageSearch } from "./searchParams";
import { useSelection } from "./useSelection";

const route = getRouteApi("/shell/knowledge-bases/$kbId/documents/$documentId");

export function DocumentPage() {
  const { t } = useTranslation();
  const { kbId, documentId } = route.useParams();
  const { data, error, refetch } = useQuery(documentQuery(kbId, documentId));
  if (data) return <LoadedDocument document={data} key={data.id} />;
  return (
    <Page title={t("nav.knowledge")} wide>
      {error ? <ErrorNotice error={error} onRetry={() => void refetch()} /> : <Skeleton lines={12} />}
    </Page>
  );
}

function LoadedDocument({ document }: { document: DocumentAnswer }) {
  const { t } = useTranslation("documents");
  const may = useMay();
  const knowledgeBase = useQuery(knowledgeBaseQuery(document.knowledge_base_id)).data;
  const isWritable = may("kb:write") && (knowledgeBase?.can_write ?? false);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useTitle(document.name);
  const setSearch = useCallback(
    (change: (before: PassageSearch) => PassageSearch) => void navigate({ to: ".", search: change, replace: true }),
    [navigate],
  );
  return (
    <div className={styles.page}>
      <DocumentHeader document={document} knowledgeBase={knowledgeBase?.name} isWritable={isWritable} />
      <DocumentState document={document} isWritable={isWritable} />
      <Tabs
        view={search.view ?? "original"}
        label={t("page.tabs")}
        onView={(view) => setSearch((before) => ({ ...before, view }))}
      />
      <Panes document={document} isWritable={isWritable} search={search} setSearch={setSearch} />
    </div>
  );
}

type View = NonNullable<PassageSearch["view"]>;

/** On a small screen one of the two is shown. */
function Tabs({ view, label, onView }: { view: View; label: string; onView: (view: View) => void }) {
  const { t } = useTranslation("documents");
  return (
    <fieldset className={styles.tabs} aria-label={label}>
      {(["original", "passages"] as const).map((name) => (
        <button key={name} type="button" aria-pressed={view === name} onClick={() => onView(name)}>
          {t(name === "original" ? "original.title" : "chunk.title")}
        </button>
      ))}
    </fieldset>
  );
}

interface PanesProps {
  document: DocumentAnswer;
  isWritable: boolean;
  search: PassageSearch;
  setSearch: (change: (before: PassageSearch) => PassageSearch) => void;
}

function Panes({ document, isWritable, search, setSearch }: PanesProps) {
  const { t } = useTranslation("documents");
  const isChanged = search.changed ?? false;
  const all = useChunks(document);
  const listed = useChunks(document, isChanged);
  const { start, end } = search;
  const span = start !== undefined && end !== undefined ? { start, end } : undefined;
  const { selected, isGone } = useSelection(document.knowledge_base_id, all, search.chunk, span);
  const [hovered, setHovered] = useState<DocumentChunk | null>(null);
  const [visits, setVisits] = useState(0);
  const select = useCallback(
    (chunk: DocumentChunk) =>
      setSearch(({ view, changed }) => ({ chunk: chunk.id, ...(view && { view }), ...(changed && { changed }) })),
    [setSearch],
  );
  const selectInList = useCallback(
    (chunk: DocumentChunk) => {
      setVisits((count) => count + 1);
      select(chunk);
    },
    [select],
  );
  const show = useCallback(
    (chunk: DocumentChunk) => {
      setVisits((count) => count + 1);
      setSearch(({ changed }) => ({ chunk: chunk.id, view: "original", ...(changed && { changed }) }));
    },
    [setSearch],
  );
  return (
    <>
      {isGone && <Notice tone="warning">{t("page.gone")}</Notice>}
      <div className={styles.panes} data-view={search.view ?? "original"}>
        <section className={styles.original} aria-label={t("original.title")}>
          <h2 className="visually-hidden">{t("original.title")}</h2>
          <OriginalView
            document={document}
            chunks={all}
            selected={selected}
            hovered={hovered}
            span={span}
            page={search.page}
            visit={`${search.view ?? "original"} ${visits}`}
            onPick={select}
          />
        </section>
        <section className={styles.chunks} aria-label={t("chunk.title")}>
          <ChunkList
            documentId={document.id}
            chunks={isChanged ? listed : all}
            selected={selected}
            span={span}
            isWritable={isWritable}
            isChanged={isChanged}
            onChanged={(changed) => setSearch(({ changed: _, ...rest }) => ({ ...rest, ...(changed && { changed }) }))}
            onSelect={selectInList}
            onShow={show}
            onHover={setHovered}
          />
        </section>
      </div>
    </>
  );
}

/** The table of documents, with what can be done with each. */
import { Link } from "@tanstack/react-router";
import { ArrowDown, ArrowUp, Lock, MoreHorizontal, RotateCcw } from "lucide-react";
import { type Dispatch, memo, type SetStateAction, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { Table } from "@/components/layout/Page";
import { AnchoredMenu } from "@/components/overlays/Menu";
import { formatBytes, formatDateTime, formatNumber, formatRelative } from "@/i18n/format";
import type { BulkAction } from "../knowledgeActions";
import type { DocumentRow } from "../queries";
import type { DocumentSearch, Sort } from "../searchParams";
import type { OpenDialog } from "./DocumentDialogs";
import { DocumentRowState } from "./DocumentRowState";
import styles from "./Documents.module.css";
import { useDocumentEntries } from "./documentEntries";

interface Doing {
  kbId: string;
  mayWrite: boolean;
  isOwner: boolean;
  onAction: (request: BulkAction) => void;
  onDialog: (dialog: OpenDialog) => void;
}

interface Choosing {
  selected: ReadonlySet<string>;
  onSelect: Dispatch<SetStateAction<ReadonlySet<string>>>;
}

interface OpenedMenu {
  document: DocumentRow;
  anchor: HTMLElement;
}

export function DocumentTable({
  documents,
  search,
  onSort,
  ...rest
}: Doing &
  Choosing & {
    documents: readonly DocumentRow[];
    search: DocumentSearch;
    onSort: (part: Partial<DocumentSearch>) => void;
  }) {
  const { t } = useTranslation("knowledge");
  const { selected, onSelect, mayWrite } = rest;
  const [opened, setOpened] = useState<OpenedMenu | null>(null);
  const isAll = documents.length > 0 && documents.every(({ id }) => selected.has(id));
  return (
    <>
      <Table
        label={t("tab.documents")}
        head={
          <>
            {mayWrite && (
              <th className={styles.tick}>
                <input
                  type="checkbox"
                  aria-label={t("documents.select_page")}
                  checked={isAll}
                  onChange={() => onSelect(new Set(isAll ? [] : documents.map(({ id }) => id)))}
                />
              </th>
            )}
            <SortHead sort="name" search={search} onSort={onSort} />
            <SortHead sort="status" search={search} onSort={onSort} />
            <th className={styles.number}>{t("documents.passages")}</th>
            <SortHead sort="file_size" search={search} onSort={onSort} />
            <SortHead sort="updated_at" search={search} onSort={onSort} />
            <th className={styles.menuHead}>
              <span className="visually-hidden">{t("documents.actions")}</span>
            </th>
          </>
        }
      >
        {documents.map((document) => (
          <DocumentLine
            key={document.id}
            document={document}
            isSelected={selected.has(document.id)}
            mayWrite={mayWrite}
            onSelect={onSelect}
            onAction={rest.onAction}
            onMenu={setOpened}
          />
        ))}
      </Table>
      {opened && <DocumentMenu {...rest} {...opened} onClose={() => setOpened(null)} />}
    </>
  );
}

function SortHead({
  sort,
  search,
  onSort,
}: {
  sort: Sort;
  search: DocumentSearch;
  onSort: (part: Partial<DocumentSearch>) => void;
}) {
  const { t } = useTranslation("knowledge");
  const isSorted = (search.sort ?? "updated_at") === sort;
  const order = search.order ?? (sort === "name" || sort === "status" ? "asc" : "desc");
  const Arrow = order === "asc" ? ArrowUp : ArrowDown;
  return (
    <th
      className={sort === "file_size" || sort === "updated_at" ? styles.when : undefined}
      aria-sort={isSorted ? (order === "asc" ? "ascending" : "descending") : undefined}
    >
      <button
        type="button"
        className={styles.sort}
        onClick={() =>
          onSort({ sort, order: isSorted ? (order === "asc" ? "desc" : "asc") : undefined, page: undefined })
        }
      >
        {t(`column.${sort}`)}
        {isSorted && <Arrow size={14} aria-hidden />}
      </button>
    </th>
  );
}

function DocumentMenu({
  anchor,
  onClose,
  ...doing
}: Doing & { document: DocumentRow; anchor: HTMLElement; onClose: () => void }) {
  return <AnchoredMenu anchor={anchor} entries={useDocumentEntries(doing)} onClose={onClose} />;
}

interface LineProps extends Pick<Doing, "mayWrite" | "onAction">, Pick<Choosing, "onSelect"> {
  document: DocumentRow;
  isSelected: boolean;
  onMenu: (opened: OpenedMenu) => void;
}

// A page has fifty: ticking one must not draw them all.
const DocumentLine = memo(function DocumentLine(props: LineProps) {
  const { document, isSelected, onSelect, mayWrite, onAction, onMenu } = props;
  const { t } = useTranslation("knowledge");
  const { id, name, chunk_count, pages, file_size, updated_at } = document;
  function toggle() {
    onSelect((selected) => {
      const next = new Set(selected);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }
  return (
    <tr>
      {mayWrite && (
        <td className={styles.tick}>
          <input type="checkbox" aria-label={t("documents.select", { name })} checked={isSelected} onChange={toggle} />
        </td>
      )}
      <td className={styles.name}>
        <Link
          to="/knowledge-bases/$kbId/documents/$documentId"
          params={{ kbId: document.knowledge_base_id, documentId: id }}
        >
          {name}
        </Link>
        {document.restricted && (
          <span
            className={styles.lock}
            role="img"
            title={t("documents.restricted")}
            aria-label={t("documents.restricted")}
          >
            <Lock size={13} aria-hidden />
          </span>
        )}
      </td>
      <td className={styles.state}>
        <DocumentRowState document={document} />
        {mayWrite && document.status === "failed" && (
          <Button size="s" icon={RotateCcw} onClick={() => onAction({ action: "retry", ids: [id] })}>
            {t("action.retry")}
          </Button>
        )}
      </td>
      <td className={styles.number}>
        {document.searchable ? formatNumber(chunk_count) : "–"}
        {pages !== null && <span className={styles.small}>{t("documents.pages", { count: pages })}</span>}
      </td>
      <td className={styles.number}>{formatBytes(file_size)}</td>
      <td className={styles.when} title={formatDateTime(updated_at)}>
        {formatRelative(updated_at)}
      </td>
      <td className={styles.menu}>
        <IconButton
          icon={MoreHorizontal}
          size="s"
          label={t("documents.actions_of", { name })}
          aria-haspopup="menu"
          onClick={(event) => onMenu({ document, anchor: event.currentTarget })}
        />
      </td>
    </tr>
  );
});

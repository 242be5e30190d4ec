/** The documents of a knowledge base: uploads, progress and the table. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { FileText, SearchX } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { Skeleton } from "@/components/layout/Page";
import { Pager } from "@/components/layout/Pager";
import { useBulkAction } from "../knowledgeActions";
import { documentsQuery, knowledgeBaseQuery } from "../queries";
import type { DocumentSearch } from "../searchParams";
import { UploadArea } from "../uploads/UploadArea";
import { DocumentDialogs, type OpenDialog } from "./DocumentDialogs";
import { DocumentFilters } from "./DocumentFilters";
import { DocumentSelectionBar } from "./DocumentSelectionBar";
import { DocumentTable } from "./DocumentTable";
import { ProgressSummary } from "./ProgressSummary";
import { useProgress } from "./useProgress";

const route = getRouteApi("/shell/knowledge-bases/$kbId/");

export function DocumentList() {
  const { t } = useTranslation("knowledge");
  const { kbId } = route.useParams();
  const base = useQuery(knowledgeBaseQuery(kbId)).data;
  const mayWrite = useMay()("kb:write") && (base?.can_write ?? false);
  const progress = useProgress(kbId);
  return (
    <>
      <h2 className="visually-hidden">{t("tab.documents")}</h2>
      {mayWrite && <UploadArea kbId={kbId} isEmpty={progress?.total === 0} />}
      {progress && progress.total > 0 && <ProgressSummary kbId={kbId} progress={progress} mayWrite={mayWrite} />}
      <Documents kbId={kbId} mayWrite={mayWrite} isOwner={mayWrite && base?.access === "owner"} />
    </>
  );
}

function Documents({ kbId, mayWrite, isOwner }: { kbId: string; mayWrite: boolean; isOwner: boolean }) {
  const search = route.useSearch();
  const navigate = useNavigate();
  const found = useQuery(documentsQuery(kbId, search));
  const bulk = useBulkAction(kbId);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const set = (part: Partial<DocumentSearch>) => {
    setSelected(new Set());
    void navigate({ to: ".", search: { ...search, ...part }, replace: true, resetScroll: false });
  };
  if (found.isPending) return <Skeleton lines={8} />;
  if (found.isError) return <ErrorNotice error={found.error} onRetry={() => found.refetch()} />;
  const { items, total, pages, page } = found.data;
  if (!total && !search.status && !search.q) return mayWrite ? null : <NoDocuments />;
  return (
    <>
      <DocumentFilters search={search} set={set} total={total} />
      <DocumentSelectionBar
        documents={items.filter(({ id }) => selected.has(id))}
        total={total}
        status={search.q ? undefined : search.status}
        mayWrite={mayWrite}
        isOwner={isOwner}
        busy={bulk.isPending}
        onAction={(request) => bulk.mutate(request, { onSuccess: () => setSelected(new Set()) })}
        onDialog={setDialog}
        onClear={() => setSelected(new Set())}
      />
      {items.length ? (
        <DocumentTable
          documents={items}
          kbId={kbId}
          search={search}
          onSort={set}
          selected={selected}
          onSelect={setSelected}
          mayWrite={mayWrite}
          isOwner={isOwner}
          onAction={bulk.mutate}
          onDialog={setDialog}
        />
      ) : (
        <NothingFound onAll={() => set({ q: undefined, status: undefined, page: undefined })} />
      )}
      <Pager page={page} pages={pages} onPage={(next) => set({ page: next > 1 ? next : undefined })} />
      <DocumentDialogs
        kbId={kbId}
        dialog={dialog}
        onClose={() => setDialog(null)}
        onDelete={(request) => bulk.mutateAsync(request).then(() => setSelected(new Set()))}
      />
    </>
  );
}

function NoDocuments() {
  const { t } = useTranslation("knowledge");
  return (
    <EmptyState icon={FileText} title={t("documents.empty")}>
      {t("documents.empty_reader")}
    </EmptyState>
  );
}

function NothingFound({ onAll }: { onAll: () => void }) {
  const { t } = useTranslation("knowledge");
  return (
    <EmptyState
      icon={SearchX}
      title={t("documents.none")}
      action={<Button onClick={onAll}>{t("documents.all")}</Button>}
    />
  );
}

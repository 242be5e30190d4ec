/** The saved questions of a knowledge base, and how well the search has answered them over time. */
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Download, ListChecks, Plus, Upload } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, callEmpty, save } from "@/api/client";
import { Button, LinkButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import { Section, Skeleton } from "@/components/layout/Page";
import { Pager } from "@/components/layout/Pager";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { Menu } from "@/components/overlays/Menu";
import { EvaluationSection } from "../evaluations/EvaluationSection";
import { type SavedQuestion, useQuestions } from "../evaluations/evaluationQueries";
import styles from "../KnowledgeBaseSearch.module.css";
import { useKnowledgeBase } from "../searchQueries";
import { QuestionDialog, type QuestionDraft } from "./QuestionDialog";
import { QuestionImportDialog } from "./QuestionImportDialog";
import { QuestionTable } from "./QuestionTable";

const route = getRouteApi("/shell/knowledge-bases/$kbId/questions");
const BLANK: QuestionDraft = { question: "", passages: [{ document: "", text: "", ticked: true }] };

function asDraft({ id, question, expected }: SavedQuestion): QuestionDraft {
  return { id, question, passages: expected.map((passage) => ({ ...passage, ticked: true })) };
}

export function QuestionList() {
  const { t } = useTranslation("search");
  const { kbId } = route.useParams();
  const params = route.useSearch();
  const { page = 1, options } = params;
  const navigate = route.useNavigate();
  const mayWrite = useMay()("kb:write");
  const canWrite = (useKnowledgeBase(kbId).data?.can_write ?? false) && mayWrite;
  const questions = useQuestions(kbId, page);
  const [draft, setDraft] = useState<QuestionDraft | null>(null);
  const [leaving, setLeaving] = useState<SavedQuestion | null>(null);
  const [imports, setImports] = useState(false);
  const total = questions.data?.total ?? 0;

  return (
    <>
      {total > 0 && (
        <EvaluationSection
          kbId={kbId}
          canWrite={canWrite}
          options={options ?? {}}
          onOptions={(chosen) =>
            void navigate({ to: ".", search: { ...params, options: chosen }, replace: true, resetScroll: false })
          }
        />
      )}
      <Section
        title={total ? t("question.title_count", { count: total }) : t("question.title")}
        actions={
          <QuestionActions
            kbId={kbId}
            canWrite={canWrite}
            hasQuestions={total > 0}
            onNew={() => setDraft(BLANK)}
            onImport={() => setImports(true)}
          />
        }
      >
        {questions.error && <ErrorNotice error={questions.error} onRetry={() => void questions.refetch()} />}
        {questions.isPending && <Skeleton lines={6} />}
        {questions.data && !total && (
          <EmptyState
            icon={ListChecks}
            title={t("question.empty")}
            action={
              <LinkButton to="/knowledge-bases/$kbId/search" params={{ kbId }}>
                {t("question.begin")}
              </LinkButton>
            }
          >
            {t(canWrite ? "question.empty_hint" : "question.empty_read")}
          </EmptyState>
        )}
        {questions.data && total > 0 && (
          <>
            <QuestionTable
              kbId={kbId}
              questions={questions.data.items}
              canWrite={canWrite}
              onChange={(question) => setDraft(asDraft(question))}
              onDelete={setLeaving}
            />
            <Pager
              page={page}
              pages={questions.data.pages}
              onPage={(next) => void navigate({ to: ".", search: { ...params, page: next }, resetScroll: false })}
            />
          </>
        )}
      </Section>
      {draft && <QuestionDialog kbId={kbId} draft={draft} onClose={() => setDraft(null)} />}
      {imports && <QuestionImportDialog kbId={kbId} onClose={() => setImports(false)} />}
      <DeleteDialog kbId={kbId} question={leaving} onClose={() => setLeaving(null)} />
    </>
  );
}

interface ActionsProps {
  kbId: string;
  canWrite: boolean;
  hasQuestions: boolean;
  onNew: () => void;
  onImport: () => void;
}

function QuestionActions({ kbId, canWrite, hasQuestions, onNew, onImport }: ActionsProps) {
  const { t } = useTranslation("search");
  return (
    <div className={styles.actions}>
      {canWrite && (
        <>
          <Button size="s" icon={Plus} onClick={onNew}>
            {t("question.new")}
          </Button>
          <Button size="s" icon={Upload} onClick={onImport}>
            {t("import.open")}
          </Button>
        </>
      )}
      {hasQuestions && <ExportMenu kbId={kbId} />}
    </div>
  );
}

function ExportMenu({ kbId }: { kbId: string }) {
  const { t } = useTranslation("search");
  const fail = useErrorToast();
  const entries = (["jsonl", "csv"] as const).map((format) => ({
    label: t(`question.export_${format}`),
    onSelect: () =>
      void save(`/api/v1/knowledge-bases/${encodeURIComponent(kbId)}/questions/export?format=${format}`).catch(fail),
  }));
  return (
    <Menu
      entries={entries}
      trigger={
        <Button size="s" icon={Download}>
          {t("question.export")}
        </Button>
      }
    />
  );
}

function DeleteDialog({
  kbId,
  question,
  onClose,
}: {
  kbId: string;
  question: SavedQuestion | null;
  onClose: () => void;
}) {
  const { t } = useTranslation(["search", "common"]);
  const queries = useQueryClient();
  async function remove() {
    if (!question) return;
    const path = { kb_id: kbId, question_id: question.id };
    await callEmpty(api.DELETE("/api/v1/knowledge-bases/{kb_id}/questions/{question_id}", { params: { path } }));
    await queries.invalidateQueries({ queryKey: ["questions", kbId] });
    notify(t("question.deleted"));
  }
  return (
    <ConfirmDialog
      open={question !== null}
      onClose={onClose}
      title={t("question.delete")}
      description={t("question.delete_hint", { question: question?.question ?? "" })}
      action={t("common:action.delete")}
      onConfirm={remove}
    />
  );
}

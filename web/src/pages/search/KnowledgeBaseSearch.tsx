/** The search test of one knowledge base: query, filters, settings; what was found and why, what was dropped and why. */
import { getRouteApi } from "@tanstack/react-router";
import { BookmarkPlus, Columns2, HelpCircle, TextSearch } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { Section, Skeleton } from "@/components/layout/Page";
import { WhyDialog } from "./absence/WhyDialog";
import { WhyPanel } from "./absence/WhyPanel";
import styles from "./KnowledgeBaseSearch.module.css";
import { QueryForm } from "./QueryForm";
import { QuestionDialog, type QuestionDraft } from "./questions/QuestionDialog";
import { ComparedAnswers } from "./results/ComparedAnswers";
import { DroppedList } from "./results/DroppedList";
import { HitList } from "./results/HitList";
import { ResultSummary } from "./results/ResultSummary";
import { nonEmpty, type SearchParams } from "./searchParams";
import { type SearchAnswer, type SearchRequest, useKnowledgeBase, useTestSearch } from "./searchQueries";
import { FilterForm } from "./settings/FilterForm";
import { SettingsPanel } from "./settings/SettingsPanel";

const route = getRouteApi("/shell/knowledge-bases/$kbId/search");

export function KnowledgeBaseSearch() {
  const { t } = useTranslation("search");
  const { kbId } = route.useParams();
  const params = route.useSearch();
  const { q, filters, options, compared, why } = params;
  const navigate = route.useNavigate();
  const mayWrite = useMay()("kb:write");
  const canWrite = (useKnowledgeBase(kbId).data?.can_write ?? false) && mayWrite;
  const [dialog, setDialog] = useState<"why" | QuestionDraft | null>(null);
  const asked: SearchRequest = { q, filters, options };
  const found = useTestSearch(kbId, asked);
  const second = useTestSearch(kbId, { q, filters, options: compared }, compared !== undefined);

  function set(part: Partial<SearchParams>, replace = false) {
    void navigate({ to: ".", search: { ...params, ...part }, replace, resetScroll: false });
  }
  const answer = q ? found.data : undefined;
  return (
    <>
      <Section title={t("test.title")}>
        <p className={styles.lead}>{t("test.lead")}</p>
        <QueryForm
          query={q}
          place={kbId}
          busy={found.isFetching}
          onAsk={(words) => {
            // The same query again asks again: what the knowledge base holds may have changed.
            if (words === q) void found.refetch();
            else set({ q: words, why: undefined });
          }}
        />
        <FilterForm filters={filters} onChange={(chosen) => set({ filters: chosen })} />
        <SettingsPanel
          kbId={kbId}
          options={options}
          compared={compared}
          answers={[answer, q ? second.data : undefined]}
          canWrite={canWrite}
          onChange={(part) => set(part, true)}
        />
      </Section>
      {q && why && (
        <WhyPanel
          kbId={kbId}
          asked={asked}
          wanted={why}
          onClose={() => set({ why: undefined })}
          onSave={
            canWrite ? (passage) => setDialog({ question: q, passages: [{ ...passage, ticked: true }] }) : undefined
          }
        />
      )}
      {q && (
        <ResultSection
          tests={{ found, second }}
          compared={compared !== undefined}
          onWhy={() => setDialog("why")}
          onCompare={(compares) => set({ compared: compares ? (options ?? {}) : undefined })}
          onSave={canWrite ? (shown) => setDialog(draftOf(q, shown)) : undefined}
        />
      )}
      {answer && (
        <DroppedList kbId={kbId} answer={answer} onWhy={(chunk) => set({ why: nonEmpty({ chunk_id: chunk }) })} />
      )}
      {!q && (
        <EmptyState icon={TextSearch} title={t("test.empty")}>
          {t("test.empty_hint")}
        </EmptyState>
      )}
      <WhyDialog
        kbId={kbId}
        open={dialog === "why"}
        onClose={() => setDialog(null)}
        onChoose={(wanted) => set({ why: wanted })}
      />
      {dialog && dialog !== "why" && <QuestionDialog kbId={kbId} draft={dialog} onClose={() => setDialog(null)} />}
    </>
  );
}

function draftOf(question: string, { results }: SearchAnswer): QuestionDraft {
  return {
    question,
    passages: results.map(({ document_name, content }) => ({ document: document_name, text: content, ticked: false })),
  };
}

interface ResultProps {
  tests: Record<"found" | "second", ReturnType<typeof useTestSearch>>;
  /** Whether a second search with other settings stands beside the first. */
  compared: boolean;
  onWhy: () => void;
  onCompare: (compares: boolean) => void;
  onSave: ((answer: SearchAnswer) => void) | undefined;
}

function ResultSection({ tests: { found, second }, compared, onWhy, onCompare, onSave }: ResultProps) {
  const { t } = useTranslation("search");
  const answer = found.data;
  const actions = answer && (
    <div className={styles.actions}>
      <Button size="s" icon={HelpCircle} onClick={onWhy}>
        {t("why.title")}
      </Button>
      <Button size="s" icon={Columns2} aria-pressed={compared} onClick={() => onCompare(!compared)}>
        {t(compared ? "compare.stop" : "compare.start")}
      </Button>
      {onSave && (
        <Button size="s" icon={BookmarkPlus} onClick={() => onSave(answer)}>
          {t("question.save")}
        </Button>
      )}
    </div>
  );
  return (
    <Section title={t("result.title")} actions={actions}>
      {found.error && <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />}
      {found.isPending && <Skeleton lines={8} />}
      {answer && !compared && (
        <>
          <ResultSummary answer={answer} timed />
          <HitList answer={answer} />
        </>
      )}
      {answer && compared && <ComparedAnswers first={answer} second={second.data} error={second.error} />}
    </Section>
  );
}

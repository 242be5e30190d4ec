/** Measure the search with the saved questions, and see how it did over time. */
import { useNavigate } from "@tanstack/react-router";
import { Gauge, Square } from "lucide-react";
import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ProgressBar } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import { Disclosure } from "@/components/overlays/Disclosure";
import { nonEmpty, type RetrievalOptions } from "../searchParams";
import { OptionsForm } from "../settings/OptionsForm";
import styles from "./EvaluationSection.module.css";
import { EvaluationTable } from "./EvaluationTable";
import { useEvaluations } from "./evaluationQueries";
import { type EvaluationRun, useEvaluationRun } from "./useEvaluationRun";

const EvaluationPlot = lazy(() => import("./EvaluationPlot"));
// Ten passages are always looked at, without the text around them.
const NOT_MEASURED = ["top_k", "neighbours", "expand"] as const;

export function EvaluationSection({
  kbId,
  canWrite,
  options,
  onOptions,
}: {
  kbId: string;
  canWrite: boolean;
  options: RetrievalOptions;
  onOptions: (options: RetrievalOptions | undefined) => void;
}) {
  const { t } = useTranslation("search");
  const navigate = useNavigate();
  const evaluations = useEvaluations(kbId);
  const run = useEvaluationRun(kbId, ({ id }) => {
    notify(t("evaluation.done"));
    void navigate({ to: "/knowledge-bases/$kbId/evaluations/$evaluationId", params: { kbId, evaluationId: id } });
  });
  const items = evaluations.data?.items ?? [];
  return (
    <Section
      title={t("evaluation.title")}
      actions={
        canWrite && (
          <Button size="s" variant="primary" icon={Gauge} busy={run.running} onClick={() => run.start(options)}>
            {t("evaluation.run")}
          </Button>
        )
      }
    >
      <p className={styles.lead}>{t("evaluation.lead")}</p>
      <RunState run={run} />
      {canWrite && (
        <Disclosure title={t("evaluation.options")} count={Object.keys(options).length}>
          <OptionsForm options={options} onChange={(chosen) => onOptions(nonEmpty(chosen))} without={NOT_MEASURED} />
        </Disclosure>
      )}
      {evaluations.error && <ErrorNotice error={evaluations.error} onRetry={() => void evaluations.refetch()} />}
      {evaluations.isPending && <Skeleton lines={4} />}
      {evaluations.data && !items.length && <p>{t("evaluation.none")}</p>}
      {items.length > 1 && (
        <Card>
          <Suspense fallback={<Skeleton lines={5} />}>
            <EvaluationPlot evaluations={items} />
          </Suspense>
        </Card>
      )}
      {items.length > 0 && <EvaluationTable kbId={kbId} evaluations={items} canWrite={canWrite} />}
    </Section>
  );
}

function RunState({ run }: { run: EvaluationRun }) {
  const { t } = useTranslation(["search", "common"]);
  const { progress, running, error } = run;
  return (
    <>
      {error ? <ErrorNotice error={error} /> : null}
      {running && (
        <Card className={styles.progress}>
          <ProgressBar
            value={progress?.total ? progress.done / progress.total : null}
            label={t("evaluation.progress")}
          />
          <p>
            {progress ? t("evaluation.asked", { done: progress.done, count: progress.total }) : t("evaluation.begins")}{" "}
            {t("evaluation.stay")}
          </p>
          <Button size="s" icon={Square} onClick={run.cancel}>
            {t("common:action.stop")}
          </Button>
        </Card>
      )}
    </>
  );
}

/** One measurement: figures, settings, each question's result, and the comparison with another. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import { useTranslation } from "react-i18next";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { CheckboxField, SelectField } from "@/components/forms/Field";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import { formatDateTime } from "@/i18n/format";
import { SettingsList } from "../settings/SettingsList";
import { ComparisonView } from "./ComparisonView";
import styles from "./EvaluationPage.module.css";
import { FIGURES, useComparison, useEvaluation, useEvaluations, type WholeEvaluation } from "./evaluationQueries";
import { FigureChange, formatFigure } from "./FigureChange";
import { ResultTable } from "./ResultTable";

const route = getRouteApi("/shell/knowledge-bases/$kbId/evaluations/$evaluationId");

export function EvaluationPage() {
  const { t } = useTranslation("search");
  const { kbId, evaluationId } = route.useParams();
  const params = route.useSearch();
  const { show } = params;
  const navigate = route.useNavigate();
  const evaluation = useEvaluation(kbId, evaluationId);
  const missed = show === "missed";
  const results = evaluation.data?.results ?? [];
  return (
    <>
      <p>
        <Link to="/knowledge-bases/$kbId/questions" params={{ kbId }} className={styles.back}>
          <ArrowLeft size={16} aria-hidden />
          {t("evaluation.back")}
        </Link>
      </p>
      {evaluation.error && <ErrorNotice error={evaluation.error} onRetry={() => void evaluation.refetch()} />}
      {evaluation.isPending && <Skeleton lines={8} />}
      {evaluation.data && (
        <>
          <Section title={t("evaluation.of", { time: formatDateTime(evaluation.data.created_at) })}>
            <Figures evaluation={evaluation.data} />
            <SettingsList settings={evaluation.data.settings} />
          </Section>
          <ComparisonSection kbId={kbId} evaluation={evaluation.data} />
          <Section
            title={t("evaluation.results", { count: results.length })}
            actions={
              <CheckboxField
                label={t("evaluation.only_missed")}
                checked={missed}
                onChange={(only) =>
                  void navigate({
                    to: ".",
                    search: { ...params, show: only ? "missed" : undefined },
                    replace: true,
                    resetScroll: false,
                  })
                }
              />
            }
          >
            <ResultTable kbId={kbId} results={missed ? results.filter(({ rank }) => rank === null) : results} />
          </Section>
        </>
      )}
    </>
  );
}

function Figures({ evaluation }: { evaluation: WholeEvaluation }) {
  const { t } = useTranslation("search");
  const { metrics, change } = evaluation;
  return (
    <dl className={styles.figures}>
      {FIGURES.map((name) => (
        <Card key={name} className={styles.figure}>
          <dt title={t(`figure.hint.${name}`)}>{t(`figure.${name}`)}</dt>
          <dd>
            <span className={styles.value}>{formatFigure(metrics[name])}</span>{" "}
            <FigureChange
              by={change?.figures[name]}
              muted={!change?.same_questions}
              title={t(change?.same_questions ? "evaluation.change" : "evaluation.other_questions")}
            />
          </dd>
        </Card>
      ))}
    </dl>
  );
}

function ComparisonSection({ kbId, evaluation }: { kbId: string; evaluation: WholeEvaluation }) {
  const { t } = useTranslation("search");
  const params = route.useSearch();
  const { with: chosen } = params;
  const navigate = route.useNavigate();
  const others = (useEvaluations(kbId).data?.items ?? []).filter(({ id }) => id !== evaluation.id);
  const comparison = useComparison(kbId, evaluation.id, chosen);
  if (!others.length) return null;
  return (
    <Section title={t("evaluation.comparison")}>
      <div className={styles.choice}>
        <SelectField
          label={t("evaluation.compare_with")}
          value={chosen ?? ""}
          options={[
            { value: "", label: t("evaluation.with_none") },
            ...others.map(({ id, created_at, metrics }) => ({
              value: id,
              label: t("evaluation.with_one", {
                time: formatDateTime(created_at),
                recall: formatFigure(metrics.recall_5),
              }),
            })),
          ]}
          onChange={({ target }) =>
            void navigate({
              to: ".",
              search: { ...params, with: target.value || undefined },
              replace: true,
              resetScroll: false,
            })
          }
        />
      </div>
      {chosen && comparison.error && <ErrorNotice error={comparison.error} onRetry={() => void comparison.refetch()} />}
      {chosen && comparison.isPending && <Skeleton lines={4} />}
      {chosen && comparison.data && <ComparisonView kbId={kbId} comparison={comparison.data} />}
    </Section>
  );
}

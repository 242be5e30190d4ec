/** Whether answers get better with a skill, or with one version of it rather than another. */
import { useQuery } from "@tanstack/react-query";
import { Scale, Square } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Badge, type Tone } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { SelectField, TextAreaField } from "@/components/forms/Field";
import { Section } from "@/components/layout/Page";
import { SkillMarkdown } from "../editor/SkillMarkdown";
import { linesOf, usePersistentForm } from "../editor/usePersistentForm";
import { skillQuery, useSkillId, versionsQuery } from "../skillQueries";
import { ModelSelect } from "./ModelSelect";
import { RunsSelect, WorkProgress } from "./TriggerTests";
import styles from "./trials.module.css";
import { useWork } from "./useWork";

type Report = Schemas["ComparisonReport"];
type ComparisonOutcome = Schemas["ComparedPair"]["outcome"];

const OUTCOMES = ["better", "same", "worse", "undecided"] as const;
const TONES: Record<ComparisonOutcome, Tone> = {
  better: "success",
  same: "neutral",
  worse: "danger",
  undecided: "warning",
};
const MOST_PAIRS = 50;

export function AnswerComparison() {
  const { t } = useTranslation(["skills", "common"]);
  const id = useSkillId();
  const work = useWork<Report>();
  const { data: loaded } = useQuery(skillQuery(id));
  const { data: versions } = useQuery(versionsQuery(id));
  const [form, setForm] = usePersistentForm(`comparison.${id}`, {
    queries: "",
    runs: "1",
    against: "",
    model: "",
    judge: "",
  });
  const queries = linesOf(form.queries);
  const others = (versions?.items ?? []).filter(({ version }) => version !== loaded?.skill.version);
  const pairs = queries.length * Number(form.runs);
  const start = () =>
    void work.start(`/api/v1/skills/${encodeURIComponent(id)}/comparison`, {
      queries,
      runs: Number(form.runs),
      ...(form.against && { against: Number(form.against) }),
      ...(form.model && { model_id: form.model }),
      ...(form.judge && { judge_model_id: form.judge }),
    });
  return (
    <>
      <Section title={t("comparison.title")}>
        <p className={styles.lead}>{t("comparison.lead")}</p>
        <TextAreaField
          label={t("comparison.queries")}
          hint={t("tests.one_a_line")}
          rows={5}
          value={form.queries}
          onChange={(event) => setForm({ queries: event.target.value })}
          error={pairs > MOST_PAIRS ? t("comparison.too_many", { most: MOST_PAIRS }) : undefined}
        />
        <div className={styles.options}>
          <SelectField
            label={t("comparison.against")}
            value={form.against}
            options={[
              { value: "", label: t("comparison.without") },
              ...others.map(({ version }) => ({
                value: String(version),
                label: t("state.version", { number: version }),
              })),
            ]}
            onChange={(event) => setForm({ against: event.target.value })}
          />
          <RunsSelect value={form.runs} choices={[1, 2, 3, 5]} onChange={(runs) => setForm({ runs })} />
          <ModelSelect label={t("comparison.model")} value={form.model} onChange={(model) => setForm({ model })} />
          <ModelSelect label={t("comparison.judge")} value={form.judge} onChange={(judge) => setForm({ judge })} />
          <Button
            variant="primary"
            icon={Scale}
            busy={work.isRunning}
            disabled={!pairs || pairs > MOST_PAIRS}
            onClick={start}
          >
            {t("comparison.start", { count: pairs })}
          </Button>
          {work.isRunning && (
            <Button icon={Square} onClick={work.stop}>
              {t("common:action.stop")}
            </Button>
          )}
        </div>
        {work.isRunning && <WorkProgress work={work} />}
        {work.error !== null && <ErrorNotice error={work.error} />}
      </Section>
      {work.result && <ComparisonReport report={work.result} />}
    </>
  );
}

function ComparisonReport({ report }: { report: Report }) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <Section title={t("comparison.result")}>
      <p className={styles.options} role="status">
        {OUTCOMES.filter((outcome) => report.outcomes[outcome]).map((outcome) => (
          <Badge key={outcome} tone={TONES[outcome]}>
            {t(`comparison.counted.${outcome}`, { count: report.outcomes[outcome] })}
          </Badge>
        ))}
      </p>
      <p className={styles.lead}>{t("comparison.by", { model: report.model, judge: report.judge })}</p>
      <div className={styles.answers}>
        {report.pairs.map((pair, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a request may stand there several times
          <article className={styles.answer} key={index}>
            <header className={styles.head}>
              <h3>{pair.query}</h3>
              <Badge tone={TONES[pair.outcome]}>{t(`comparison.outcome.${pair.outcome}`)}</Badge>
            </header>
            <div className={styles.pair}>
              <div>
                <p className={styles.label}>{t("comparison.with")}</p>
                <SkillMarkdown text={pair.answer} />
              </div>
              <div>
                <p className={styles.label}>
                  {report.against === null
                    ? t("comparison.without")
                    : t("comparison.with_version", { number: report.against })}
                </p>
                <SkillMarkdown text={pair.baseline} />
              </div>
            </div>
            {[...new Set(pair.reasons)].map((reason) => (
              <p key={reason} className={styles.lead}>
                {t("comparison.reason", { reason })}
              </p>
            ))}
          </article>
        ))}
      </div>
    </Section>
  );
}

/** Why a passage is not in the answer: the steps that it passed, and the one that removed it. */
import { Link } from "@tanstack/react-router";
import { Check, CircleDashed, X } from "lucide-react";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import { formatNumber } from "@/i18n/format";
import { HeadingPath } from "../results/HitCard";
import { PassageText } from "../results/PassageText";
import { precise } from "../results/ScorePath";
import type { PassageReference } from "../searchParams";
import { type SearchRequest, useWhy, type WhyAnswer } from "../searchQueries";
import { reasonText } from "./reasonText";
import styles from "./WhyPanel.module.css";
import { isKnownReason, type StepName, type StepState, whySteps } from "./whySteps";

const ICONS = { passed: Check, failed: X, not_reached: CircleDashed };

export function WhyPanel({
  kbId,
  asked,
  wanted,
  onClose,
  onSave,
}: {
  kbId: string;
  asked: SearchRequest;
  wanted: PassageReference;
  onClose: () => void;
  /** Save the query as a question that expects this passage. */
  onSave?: ((passage: { document: string; text: string }) => void) | undefined;
}) {
  const { t } = useTranslation(["search", "common"]);
  const why = useWhy(kbId, asked, wanted);
  const passage = why.data?.passage;
  const panel = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another passage in question is shown, too
  useEffect(() => {
    panel.current?.scrollIntoView({ block: "start" });
    panel.current?.focus({ preventScroll: true });
  }, [JSON.stringify(wanted)]);
  return (
    <div ref={panel} tabIndex={-1} className={styles.panel}>
      <Section
        title={t("why.title")}
        actions={
          <Button size="s" variant="ghost" icon={X} onClick={onClose}>
            {t("common:action.close")}
          </Button>
        }
      >
        {why.error && <ErrorNotice error={why.error} onRetry={() => void why.refetch()} />}
        {why.isPending && <Skeleton lines={4} />}
        {why.data && (
          <Card className={styles.card}>
            <Verdict why={why.data} />
            {passage && (
              <div className={styles.passage}>
                <h3>
                  <Link
                    to="/knowledge-bases/$kbId/documents/$documentId"
                    params={{ kbId, documentId: passage.document_id }}
                    search={{ chunk: passage.chunk_id }}
                  >
                    {why.data.document_name}
                  </Link>
                </h3>
                <HeadingPath path={passage.heading_path} page={passage.page} />
                <PassageText text={passage.content} heading={passage.heading_path.at(-1)} query={asked.q ?? ""} />
              </div>
            )}
            <Steps why={why.data} />
            {passage && onSave && (
              <div>
                <Button size="s" onClick={() => onSave({ document: why.data.document_name, text: passage.content })}>
                  {t("why.save")}
                </Button>
              </div>
            )}
          </Card>
        )}
      </Section>
    </div>
  );
}

function Verdict({ why }: { why: WhyAnswer }) {
  const { t } = useTranslation("search");
  const { code } = why.reason;
  return (
    <Notice tone={code === "shown" ? "success" : "warning"}>
      <p>
        <strong>{code === "shown" && why.place ? t("why.shown", { place: why.place }) : reasonText(why.reason)}</strong>
      </p>
      {isKnownReason(code) && <p>{t(`why.help.${code}`)}</p>}
    </Notice>
  );
}

function Steps({ why }: { why: WhyAnswer }) {
  const { t } = useTranslation("search");
  const steps = whySteps(why.reason.code);
  if (!steps.length) return null;
  return (
    <ol className={styles.steps} aria-label={t("why.steps")}>
      {steps.map(({ name, state }) => {
        const Icon = ICONS[state];
        return (
          <li key={name} className={`${styles.step} ${styles[state]}`}>
            <span className={styles.mark}>
              <Icon size={14} aria-hidden />
            </span>
            <div>
              <p className={styles.name}>
                {t(`why.step.${name}`)}
                <span className="visually-hidden">{` (${t(`why.state.${state}`)})`}</span>
              </p>
              <StepFacts name={name} state={state} why={why} />
            </div>
          </li>
        );
      })}
    </ol>
  );
}

function StepFacts({ name, state, why }: { name: StepName; state: StepState; why: WhyAnswer }) {
  const { t } = useTranslation("search");
  const leg = (place: WhyAnswer["dense"]) =>
    place === null
      ? t("why.leg_absent")
      : t(place.rank === null ? "why.leg_deep" : "why.leg", {
          rank: place.rank === null ? "" : formatNumber(place.rank),
          score: precise(place.score),
        });
  // The exact places are worth knowing whatever removed it.
  if (name === "legs" && (why.dense || why.sparse))
    return (
      <p className={styles.facts}>
        {t("why.dense", { place: why.dense_used ? leg(why.dense) : t("why.dense_unused") })} ·{" "}
        {t("why.sparse", { place: leg(why.sparse) })}
      </p>
    );
  if (state === "not_reached") return null;
  if (name === "threshold" && why.score !== null)
    return (
      <p className={styles.facts}>
        {t("why.threshold", { score: precise(why.score), threshold: precise(why.request.score_threshold) })}
      </p>
    );
  if (name === "top_k" && why.place !== null)
    return (
      <p className={styles.facts}>
        {t("why.place", { place: why.place, most: why.request.top_k })}
        {state === "failed" && why.score !== null && why.lowest_score_shown !== null
          ? ` ${t("why.lowest", { score: precise(why.score), lowest: precise(why.lowest_score_shown) })}`
          : null}
      </p>
    );
  return null;
}

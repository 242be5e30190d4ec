/** How an answer came about: how many passages, how long it took and where the time went, warnings. */
import { useTranslation } from "react-i18next";
import { Notice } from "@/components/feedback/Notice";
import { formatNumber } from "@/i18n/format";
import { reasonText } from "../absence/reasonText";
import type { SearchAnswer } from "../searchQueries";
import styles from "./ResultSummary.module.css";

const TIMINGS = ["encode_ms", "index_ms", "database_ms", "rerank_ms"] as const;

export function ResultSummary({ answer, timed }: { answer: SearchAnswer; timed?: boolean }) {
  const { t } = useTranslation("search");
  const milliseconds = (value: number) =>
    formatNumber(value, { style: "unit", unit: "millisecond", maximumFractionDigits: value < 10 ? 1 : 0 });
  const timings = answer.explain?.timings;
  return (
    <>
      <p className={styles.summary} role="status">
        <span>{t("result.count", { count: answer.results.length })}</span>
        <span>{milliseconds(answer.took_ms)}</span>
        {timed && timings && (
          <span>{TIMINGS.map((name) => `${t(`result.${name}`)} ${milliseconds(timings[name])}`).join(" · ")}</span>
        )}
        {timed && <span>{t("result.dense_weight", { weight: formatNumber(answer.dense_weight) })}</span>}
      </p>
      {answer.warnings.map((warning) => (
        <Notice key={`${warning.code} ${warning.message}`} tone="warning">
          {reasonText(warning)}
        </Notice>
      ))}
    </>
  );
}

/** The answers of two settings side by side; a passage of both has the same colour and number in both. */
import { useTranslation } from "react-i18next";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Skeleton } from "@/components/layout/Page";
import { compareAnswers } from "../evaluations/comparison";
import type { SearchAnswer } from "../searchQueries";
import styles from "./ComparedAnswers.module.css";
import { HitList } from "./HitList";
import { ResultSummary } from "./ResultSummary";

export function ComparedAnswers({
  first,
  second,
  error,
}: {
  first: SearchAnswer;
  second: SearchAnswer | undefined;
  error: unknown;
}) {
  const { t } = useTranslation("search");
  const compared = second && compareAnswers(first.results, second.results);
  return (
    <>
      {compared && (
        <p role="status" className={styles.summary}>
          {t("compare.shared", { count: compared.shared })} · {t("compare.only_first", { count: compared.onlyFirst })} ·{" "}
          {t("compare.only_second", { count: compared.onlySecond })}
        </p>
      )}
      <div className={styles.columns}>
        <div className={styles.column}>
          <p className={styles.title}>{t("compare.first")}</p>
          <ResultSummary answer={first} />
          <HitList answer={first} folded twins={compared?.first} />
        </div>
        <div className={styles.column}>
          <p className={styles.title}>{t("compare.second")}</p>
          {error ? <ErrorNotice error={error} /> : null}
          {!second && !error && <Skeleton lines={8} />}
          {second && (
            <>
              <ResultSummary answer={second} />
              <HitList answer={second} folded twins={compared?.second} />
            </>
          )}
        </div>
      </div>
    </>
  );
}

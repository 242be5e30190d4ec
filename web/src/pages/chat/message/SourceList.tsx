/** The sources below an answer, and what its check found wrong. */
import { FileText, TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useSources } from "../sources/sources";
import styles from "./Answer.module.css";
import type { AnswerFacts } from "./citations";

export function SourceList({ facts }: { facts: AnswerFacts }) {
  const { t } = useTranslation("chat");
  const sources = useSources();
  if (facts.citations.length === 0 || !sources) return null;
  return (
    <section aria-label={t("sources.title")} className={styles.sources}>
      <h3>{t("sources.title")}</h3>
      <ol>
        {facts.citations.map(({ number, documentName, headings, page, chunkId }) => (
          <li key={`${number}-${chunkId}`}>
            <button
              type="button"
              className={styles.source}
              aria-pressed={sources.opened?.messageId === sources.messageId && sources.opened.number === number}
              onClick={() => sources.open(sources.messageId, number)}
            >
              <span className={styles.sourceNumber}>{number}</span>
              <FileText size={14} aria-hidden />
              <span className={styles.sourceName}>{documentName}</span>
              <span className={styles.sourcePlace}>
                {page !== null ? t("sources.page", { page }) : headings.at(-1)}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

const REASONS = {
  uncited: "check.uncited",
  no_source: "check.no_source",
  not_in_source: "check.not_in_source",
} as const;

export function AnswerCheck({ facts }: { facts: AnswerFacts }) {
  const { t } = useTranslation("chat");
  const { unsupported, invalid } = facts;
  if (unsupported.length === 0 && invalid.length === 0) return null;
  const count = unsupported.length || invalid.length;
  return (
    <details className={styles.check}>
      <summary>
        <TriangleAlert size={15} aria-hidden />
        {unsupported.length > 0 ? t("check.unsupported", { count }) : t("check.invalid_count", { count })}
      </summary>
      <ul>
        {unsupported.map(({ text, reason }) => (
          <li key={text}>
            <q>{text}</q> <span>{reason in REASONS ? t(REASONS[reason as keyof typeof REASONS]) : reason}</span>
          </li>
        ))}
        {invalid.length > 0 && <li>{t("check.invalid", { numbers: invalid.map((one) => `[${one}]`).join(" ") })}</li>}
      </ul>
    </details>
  );
}

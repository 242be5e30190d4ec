/** A citation's number in a text, which opens its source. */
import { useTranslation } from "react-i18next";
import { useSources } from "../sources/sources";
import styles from "./Markdown.module.css";

export function CitationButton({ number }: { number: number }) {
  const { t } = useTranslation("chat");
  const sources = useSources();
  const citation = sources?.citations.find((one) => one.number === number);
  if (!sources || !citation) {
    const isInvalid = sources?.checked ?? false;
    return (
      <span className={isInvalid ? styles.invalidMark : undefined} title={isInvalid ? t("sources.no_such") : undefined}>
        [{number}]
      </span>
    );
  }
  const isOpen = sources.opened?.messageId === sources.messageId && sources.opened.number === number;
  return (
    <button
      type="button"
      className={styles.mark}
      aria-pressed={isOpen}
      aria-label={t("sources.open", { number, name: citation.documentName })}
      title={citation.documentName}
      onClick={() => sources.open(sources.messageId, number)}
    >
      {number}
    </button>
  );
}

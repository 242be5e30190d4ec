/** How far a running call of a tool is, by its server's word. */
import { useTranslation } from "react-i18next";
import { plainText } from "@/components/plainText";
import { formatNumber } from "@/i18n/format";
import type { CallProgress } from "./turns";
import styles from "./Work.module.css";

export function CallProgressBar({ progress }: { progress: CallProgress }) {
  const { t } = useTranslation("chat");
  const { value, total, message } = progress;
  const share = total === null ? null : Math.min(1, value / total);
  return (
    <span className={styles.progress}>
      <progress
        aria-label={t("work.progress")}
        {...(share === null ? {} : { value: share, max: 1 })}
        className={styles.bar}
      />
      {share !== null && (
        <span className={styles.fact}>{formatNumber(share, { style: "percent", maximumFractionDigits: 0 })}</span>
      )}
      {message && <span className={styles.progressMessage}>{plainText(message)}</span>}
    </span>
  );
}

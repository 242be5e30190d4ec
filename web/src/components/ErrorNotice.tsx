/** An error in words, with what a report of it needs. */
import { useTranslation } from "react-i18next";
import { ApiError } from "@/api/errors";
import { Button } from "./Button";
import styles from "./Notice.module.css";

/** The message of an error in the person's language. */
export function useErrorText(): (error: unknown) => string {
  const { t } = useTranslation();
  return (error) => {
    if (!(error instanceof ApiError)) return t("error.unexpected");
    return error.code === 0 ? t("error.unreachable") : error.message;
  };
}

export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t } = useTranslation();
  const text = useErrorText();
  const problem = error instanceof ApiError ? error : null;
  const reason = problem && typeof problem.details.reason === "string" ? problem.details.reason : null;
  return (
    <div role="alert" className={`${styles.notice} ${styles.danger}`}>
      <div className={styles.text}>
        <p>{text(error)}</p>
        {reason && reason !== problem?.message && <p>{reason}</p>}
        {problem?.requestId && (
          <p className={styles.small}>{t("error.reference", { code: problem.code, id: problem.requestId })}</p>
        )}
      </div>
      {onRetry && (
        <Button size="s" onClick={onRetry}>
          {t("action.retry")}
        </Button>
      )}
    </div>
  );
}

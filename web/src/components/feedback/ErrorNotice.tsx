/** An error in words, with what a report of it needs. */
import { useTranslation } from "react-i18next";
import { ApiError } from "@/api/errors";
import { Button } from "@/components/Button";
import type { FieldError } from "@/components/forms/fieldErrors";
import { inLanguage } from "@/i18n/inLanguage";
import styles from "./Notice.module.css";

/** A field of the request is wrong; the details name it. */
const INVALID_REQUEST = 40001;
const MOST_REASONS = 5;

/** The message of an error in the person's language. */
export function useErrorText(): (error: unknown) => string {
  const { t } = useTranslation();
  return (error) => {
    if (!(error instanceof ApiError)) return t("error.unexpected");
    return error.code === 0 ? t("error.unreachable") : error.message;
  };
}

/** What the details of an error say of its cause, in the person's language: one reason, or each problem. */
export function reasonsOf(error: unknown): string[] {
  if (!(error instanceof ApiError)) return [];
  const { code, details } = error;
  const problems = [details.problems, details.diagnostics].find(Array.isArray) as object[] | undefined;
  if (problems)
    return distinct(
      problems.map((problem) => textOf(problem, "message")),
      error,
    );
  const [reason] = distinct([textOf(details, "reason"), textOf(details, "error")], error);
  if (reason === undefined) return [];
  return [code === INVALID_REQUEST && typeof details.field === "string" ? `${details.field}: ${reason}` : reason];
}

/** Of a wrong field of a request: its path, such as `settings.url`, and the reason in the person's language. */
export function fieldErrorOf(error: unknown): FieldError | null {
  if (!(error instanceof ApiError) || error.code !== INVALID_REQUEST) return null;
  const { field } = error.details;
  const reason = textOf(error.details, "reason") ?? textOf(error.details, "error");
  return typeof field === "string" && reason ? { field, reason } : null;
}

function distinct(reasons: (string | null)[], { message }: ApiError): string[] {
  return [...new Set(reasons)].filter((reason) => reason !== null && reason !== message) as string[];
}

function textOf(details: object, key: string): string | null {
  const { [key]: english, [`${key}_zh`]: chinese } = details as Record<string, unknown>;
  const text = inLanguage(wordsOf(english), wordsOf(chinese));
  return text || null;
}

const wordsOf = (value: unknown) => (typeof value === "string" ? value : "");

export interface ErrorNoticeProps {
  error: unknown;
  onRetry?: () => void;
  /** Whether it is tried again now. */
  busy?: boolean;
}

export function ErrorNotice({ error, onRetry, busy }: ErrorNoticeProps) {
  const { t } = useTranslation();
  const text = useErrorText();
  const problem = error instanceof ApiError ? error : null;
  return (
    <div role="alert" className={`${styles.notice} ${styles.danger}`}>
      <div className={styles.text}>
        <p>{text(error)}</p>
        {reasonsOf(error)
          .slice(0, MOST_REASONS)
          .map((reason) => (
            <p key={reason}>{reason}</p>
          ))}
        {problem?.requestId && (
          <p className={styles.small}>{t("error.reference", { code: problem.shownCode, id: problem.requestId })}</p>
        )}
      </div>
      {onRetry && (
        <Button size="s" busy={busy} onClick={onRetry}>
          {t("action.retry")}
        </Button>
      )}
    </div>
  );
}

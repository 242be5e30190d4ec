/** What a person should know of a document's processing: progress, failure with the next step, warnings. */
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ProgressBar } from "@/components/feedback/Badge";
import { Notice } from "@/components/feedback/Notice";
import { useErrorToast } from "@/components/feedback/toasts";
import { currentLanguage } from "@/i18n";
import { formatDuration, formatNumber, formatRelative } from "@/i18n/format";
import type { DocumentAnswer } from "../queries";
import { useDocumentActions } from "../useDocumentActions";
import styles from "./DocumentState.module.css";

interface Props {
  document: DocumentAnswer;
  isWritable: boolean;
}

export function DocumentState({ document, isWritable }: Props) {
  const { status, failure, waiting } = document;
  return (
    <>
      {status === "failed" && failure && (
        <Notice tone="danger" action={isWritable && <ActionButton document={document} action="retry" />}>
          <WordsText words={failure} />
          <StillFound document={document} />
        </Notice>
      )}
      {(status === "pending" || status === "processing") && <Progress document={document} />}
      {(status === "paused" || status === "cancelled") && (
        <Notice
          tone="warning"
          action={isWritable && <ActionButton document={document} action={status === "paused" ? "resume" : "retry"} />}
        >
          {waiting && <WordsText words={waiting} />}
          <StillFound document={document} />
        </Notice>
      )}
      {status === "completed" && <Warnings document={document} />}
    </>
  );
}

function WordsText({ words }: { words: Schemas["Words"] }) {
  const isChinese = currentLanguage() === "zh";
  const message = (isChinese && words.message_zh) || words.message;
  const next = (isChinese && words.next_action_zh) || words.next_action;
  return (
    <>
      <p className={styles.message}>{message}</p>
      {next && <p>{next}</p>}
    </>
  );
}

function StillFound({ document }: { document: DocumentAnswer }) {
  const { t } = useTranslation("documents");
  return document.searchable ? <p className={styles.small}>{t("state.still_found")}</p> : null;
}

function ActionButton({ document, action }: { document: DocumentAnswer; action: "retry" | "resume" }) {
  const { t } = useTranslation("documents");
  const { act } = useDocumentActions(document);
  const showError = useErrorToast();
  return (
    <Button size="s" busy={act.isPending} onClick={() => act.mutate(action, { onError: showError })}>
      {t(action === "retry" ? "action.process_again" : "action.resume")}
    </Button>
  );
}

const STAGES = {
  queued: "state.queued",
  parsing: "state.parsing",
  splitting: "state.splitting",
  embedding: "state.embedding",
} as const;

function Progress({ document }: { document: DocumentAnswer }) {
  const { t } = useTranslation("documents");
  const { stage, progress, eta_seconds: eta, ahead, waiting, failure, retry_at: retryAt } = document;
  const label = t(STAGES[stage as keyof typeof STAGES] ?? "state.queued");
  return (
    <Notice>
      <div className={styles.progress}>
        <p>
          <span role="status" className={styles.message}>
            {label}
          </span>{" "}
          <span className={styles.small}>
            {eta !== null && t("state.eta", { time: formatDuration(eta) })}{" "}
            {!!ahead && t("state.ahead", { count: ahead, formatted: formatNumber(ahead) })}{" "}
            {retryAt && t("state.retry_at", { time: formatRelative(retryAt) })}
          </span>
        </p>
        <ProgressBar value={document.status === "processing" && progress > 0 ? progress / 100 : null} label={label} />
        {waiting && <WordsText words={waiting} />}
        {failure && <WordsText words={failure} />}
        <StillFound document={document} />
      </div>
    </Notice>
  );
}

const WARNINGS = {
  attachments: "warning.attachments",
  damaged_pages: "warning.damaged_pages",
  damaged_records: "warning.damaged_records",
  encoding: "warning.encoding",
  hidden_parts: "warning.hidden_parts",
  no_text_layer: "warning.no_text_layer",
  recognised: "warning.recognised",
  recognition_uncertain: "warning.recognition_uncertain",
  simplified: "warning.simplified",
} as const;

function Warnings({ document }: { document: DocumentAnswer }) {
  const { t } = useTranslation("documents");
  if (document.warnings.length === 0) return null;
  return (
    <Notice tone="warning">
      <ul className={styles.warnings}>
        {document.warnings.map((code) => {
          const key = WARNINGS[code as keyof typeof WARNINGS];
          return <li key={code}>{key ? t(key) : code}</li>;
        })}
      </ul>
    </Notice>
  );
}

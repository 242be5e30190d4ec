/** How far a document is; where it failed or waits, why and what to do. */
import { useTranslation } from "react-i18next";
import { Badge, ProgressBar, type Tone } from "@/components/feedback/Badge";
import { formatDuration, formatPercent } from "@/i18n/format";
import type { DocumentRow } from "../queries";
import { STATUSES, type Status } from "../searchParams";
import { useFailureText } from "../useFailureText";
import styles from "./Documents.module.css";

const TONES: Record<Status, Tone> = {
  pending: "neutral",
  processing: "info",
  paused: "warning",
  completed: "success",
  cancelled: "neutral",
  failed: "danger",
};
const WARNINGS = [
  "attachments",
  "damaged_pages",
  "damaged_records",
  "encoding",
  "hidden_parts",
  "no_text_layer",
  "recognised",
  "recognition_uncertain",
  "simplified",
] as const;
const STAGES = ["queued", "parsing", "splitting", "embedding", "done"] as const;

export function DocumentRowState({ document }: { document: DocumentRow }) {
  const { t } = useTranslation(["knowledge", "documents"]);
  const said = useFailureText();
  const status = STATUSES.find((name) => name === document.status) ?? "pending";
  const words = document.failure ?? (status === "completed" ? null : document.waiting);
  const { message, next } = said(words ?? {});
  const remarks = WARNINGS.filter((name) => document.warnings.includes(name)).map((name) =>
    t(`documents:warning.${name}`),
  );
  return (
    <div className={styles.stateCell}>
      <span className={styles.badges}>
        <Badge tone={TONES[status]}>{t(`status.${status}`)}</Badge>
        {document.searchable && status !== "completed" && (
          <Badge title={t("documents.searchable_hint")}>{t("documents.searchable")}</Badge>
        )}
        {document.warnings.length > 0 && status === "completed" && (
          <Badge tone="warning" title={remarks.join(" · ")}>
            {t("documents.warnings", { count: document.warnings.length })}
          </Badge>
        )}
      </span>
      {status === "processing" && <Stage document={document} />}
      {status === "pending" && document.ahead !== null && document.ahead > 0 && (
        <span className={styles.small}>{t("documents.ahead", { count: document.ahead })}</span>
      )}
      {message && <span className={status === "failed" ? styles.problem : styles.small}>{message}</span>}
      {next && <span className={styles.small}>{next}</span>}
    </div>
  );
}

function Stage({ document: { stage, progress, eta_seconds, name } }: { document: DocumentRow }) {
  const { t } = useTranslation("knowledge");
  const known = STAGES.find((each) => each === stage) ?? "queued";
  const percent = progress > 0 ? formatPercent(progress / 100) : "";
  const left = eta_seconds === null ? "" : t("documents.time_left", { time: formatDuration(eta_seconds) });
  return (
    <>
      <ProgressBar value={progress > 0 ? progress / 100 : null} label={t("documents.progress_of", { name })} />
      <span className={styles.small}>{[t(`stage.${known}`), percent, left].filter(Boolean).join(" · ")}</span>
    </>
  );
}

/** How far the whole knowledge base is. */
import { Link } from "@tanstack/react-router";
import { Pause, Play, RotateCcw } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ProgressBar } from "@/components/feedback/Badge";
import { formatDuration, formatNumber, formatPercent } from "@/i18n/format";
import { useBulkAction, usePauseBase } from "../knowledgeActions";
import type { IngestionProgress } from "../queries";
import { STATUSES } from "../searchParams";
import styles from "./Documents.module.css";

export function ProgressSummary({
  kbId,
  progress,
  mayWrite,
}: {
  kbId: string;
  progress: IngestionProgress;
  mayWrite: boolean;
}) {
  const { t } = useTranslation("knowledge");
  const { counts, percent, eta_seconds, paused } = progress;
  const open = (counts.pending ?? 0) + (counts.processing ?? 0) + (counts.paused ?? 0);
  const failed = counts.failed ?? 0;
  if (!open && !failed && !paused) return null;
  const label = paused ? t("progress.paused") : t("progress.under_way", { percent: formatPercent(percent / 100) });
  return (
    <section className={styles.summary} aria-label={t("progress.label")}>
      <div className={styles.summaryHead}>
        <strong>{open || paused ? label : t("progress.done")}</strong>
        {open > 0 && !paused && eta_seconds !== null && (
          <span className={styles.small}>{t("documents.time_left", { time: formatDuration(eta_seconds) })}</span>
        )}
        {mayWrite && <SummaryActions kbId={kbId} isOpen={open > 0} isPaused={paused} failed={failed} />}
      </div>
      {open > 0 && <ProgressBar value={percent / 100} label={t("progress.label")} />}
      <p className={styles.counts}>
        {STATUSES.filter((status) => counts[status]).map((status) => (
          <Link
            key={status}
            to="/knowledge-bases/$kbId"
            params={{ kbId }}
            search={{ status }}
            className={status === "failed" ? styles.problem : undefined}
          >
            {t("progress.count", { status: t(`status.${status}`), number: formatNumber(counts[status] ?? 0) })}
          </Link>
        ))}
      </p>
    </section>
  );
}

function SummaryActions({
  kbId,
  isOpen,
  isPaused,
  failed,
}: {
  kbId: string;
  isOpen: boolean;
  isPaused: boolean;
  failed: number;
}) {
  const { t } = useTranslation("knowledge");
  const pause = usePauseBase(kbId);
  const bulk = useBulkAction(kbId);
  return (
    <span className={styles.summaryActions}>
      {failed > 0 && (
        <Button
          size="s"
          icon={RotateCcw}
          busy={bulk.isPending}
          onClick={() => bulk.mutate({ action: "retry", status: "failed" })}
        >
          {t("bulk.all.retry")}
        </Button>
      )}
      {isPaused ? (
        <Button size="s" icon={Play} busy={pause.isPending} onClick={() => pause.mutate(false)}>
          {t("action.resume")}
        </Button>
      ) : (
        isOpen && (
          <Button size="s" icon={Pause} busy={pause.isPending} onClick={() => pause.mutate(true)}>
            {t("action.pause")}
          </Button>
        )
      )}
    </span>
  );
}

/** The last backup, check or removal: how far it is, or how it ended. */
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ProgressBar } from "@/components/feedback/Badge";
import { Notice } from "@/components/feedback/Notice";
import { formatBytes, formatNumber, formatRelative } from "@/i18n/format";
import { useFailureText } from "../knowledge/useFailureText";
import { type BackupJob, isMoving, useBackupAct } from "./backupQueries";

const STEPS = ["files", "vectors", "rows", "blobs", "manifests", "deleted"] as const;

export function BackupJobNotice({ job }: { job: BackupJob }) {
  return isMoving(job) ? <Moving job={job} /> : <Ended job={job} />;
}

function Moving({ job: { id, kind, step, done, total } }: { job: BackupJob }) {
  const { t } = useTranslation(["admin", "common"]);
  const act = useBackupAct();
  const known = STEPS.find((name) => name === step);
  const label = t(`backup.doing.${kind}`);
  const number = total ? `${formatNumber(done)} / ${formatNumber(total)}` : formatNumber(done);
  return (
    <Notice
      action={
        <Button size="s" busy={act.isPending} onClick={() => act.mutate({ act: "cancel", jobId: id })}>
          {t("common:action.cancel")}
        </Button>
      }
    >
      <p>{known ? `${label} · ${t(`backup.step.${known}`)}: ${number}` : label}</p>
      <ProgressBar value={total ? Math.min(1, done / total) : null} label={label} />
    </Notice>
  );
}

function Ended({ job }: { job: BackupJob }) {
  const { t } = useTranslation("admin");
  const said = useFailureText();
  const { kind, status, failure, result, ended_at, updated_at } = job;
  const when = formatRelative(ended_at ?? updated_at);
  if (status === "failed") {
    const { message, next } = said(failure ?? {});
    return (
      <Notice tone="danger">
        <p>{t(`backup.failed.${kind}`, { when })}</p>
        <p>{[message, next].filter(Boolean).join(" · ")}</p>
      </Notice>
    );
  }
  if (status === "cancelled") return <Notice>{t(`backup.cancelled.${kind}`, { when })}</Notice>;
  if (result.findings)
    return (
      <Notice tone="danger">
        <p>{t("backup.faulty", { count: result.findings, when })}</p>
        <ul>
          {(result.examples ?? []).map((example) => (
            <li key={`${example.part} ${example.message}`}>
              {example.part}: {said(example).message}
            </li>
          ))}
        </ul>
      </Notice>
    );
  const size = formatBytes(kind === "remove" ? (result.freed_bytes ?? 0) : (result.added_bytes ?? 0));
  return (
    <Notice tone="success">
      <p>{t(`backup.done.${kind}`, { when, size })}</p>
      {!!result.unindexed && <p>{t("backup.unindexed", { count: result.unindexed })}</p>}
      {!!result.unserved && <p>{t("backup.unserved", { count: result.unserved })}</p>}
    </Notice>
  );
}

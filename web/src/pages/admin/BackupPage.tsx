/** The backups of this installation: made, checked and removed here, restored by a command. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Archive, FolderX } from "lucide-react";
import { type ReactElement, useEffect } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { ApiError } from "@/api/errors";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState, Notice } from "@/components/feedback/Notice";
import { CopyField } from "@/components/forms/CopyField";
import form from "@/components/forms/Form.module.css";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import { BackupJobNotice } from "./BackupJobNotice";
import { BackupTable } from "./BackupTable";
import { backupJobQuery, backupsQuery, isMoving, useBackupAct } from "./backupQueries";

/** The operator has named no folder. */
const FOLDER_UNSET = 40996;

export function BackupPage(): ReactElement {
  const { t } = useTranslation("admin");
  const { data, error, refetch } = useQuery(backupsQuery);
  if (error instanceof ApiError && error.code === FOLDER_UNSET)
    return (
      <>
        <EmptyState icon={FolderX} title={t("backup.unset")}>
          {t("backup.unset_text")}
        </EmptyState>
        <Restore folder={null} />
      </>
    );
  return (
    <>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={5} />}
      {data && <Backups list={data} />}
      {data && <Restore folder={data.folder} />}
    </>
  );
}

function Backups({ list: { folder, encrypted, items } }: { list: Schemas["BackupList"] }) {
  const { t } = useTranslation("admin");
  const queries = useQueryClient();
  const act = useBackupAct();
  const { data: job, error } = useQuery(backupJobQuery);
  const busy = job ? isMoving(job) : false;
  const ended = job && !busy ? job.id : null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is another one once a job has ended
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ["backups"] });
  }, [ended]);
  const create = (
    <Button
      icon={Archive}
      variant="primary"
      disabled={busy}
      busy={act.isPending}
      onClick={() => act.mutate({ act: "create" })}
    >
      {t("backup.create")}
    </Button>
  );
  return (
    <Section title={t("backup.count", { count: items.length })} actions={items.length > 0 && create}>
      <p>{t("backup.folder", { folder })}</p>
      {!encrypted && <Notice tone="warning">{t("backup.not_encrypted")}</Notice>}
      {error && <ErrorNotice error={error} />}
      {job && <BackupJobNotice job={job} />}
      {items.length === 0 ? (
        <EmptyState icon={Archive} title={t("backup.none")} action={create}>
          {t("backup.none_text")}
        </EmptyState>
      ) : (
        <BackupTable backups={items} busy={busy} />
      )}
    </Section>
  );
}

/** To restore needs an empty installation, so it is a command. */
function Restore({ folder }: { folder: string | null }) {
  const { t } = useTranslation("admin");
  return (
    <Section title={t("backup.restore")}>
      <Card className={form.form}>
        <p>{t("backup.restore_text")}</p>
        <CopyField
          label={t("backup.restore_command")}
          value={`agentex backup restore ${folder ? quoted(folder) : "FOLDER"} --data-dir NEWFOLDER`}
        />
        <p>{t("backup.restore_next")}</p>
      </Card>
    </Section>
  );
}

/** A path as a shell takes it. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** The backups of the folder, the newest first, with what can be done with each. */
import { MoreHorizontal, ShieldCheck, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { Table } from "@/components/layout/Page";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { Menu } from "@/components/overlays/Menu";
import { formatBytes, formatDateTime, formatNumber, formatRelative } from "@/i18n/format";
import { type Backup, useBackupAct } from "./backupQueries";

const COLUMNS = ["time", "documents", "stored", "added", "key", "checked", "actions"] as const;

export function BackupTable({ backups, busy }: { backups: Backup[]; busy: boolean }) {
  const { t } = useTranslation("admin");
  return (
    <Table label={t("tab.backups")} head={COLUMNS.map((name) => <th key={name}>{t(`backup.column.${name}`)}</th>)}>
      {backups.map((backup) => (
        <BackupRow key={backup.id} backup={backup} busy={busy} />
      ))}
    </Table>
  );
}

const size = (bytes: number | null) => (bytes === null ? "–" : formatBytes(bytes));

function BackupRow({ backup, busy }: { backup: Backup; busy: boolean }) {
  const { t } = useTranslation("admin");
  const { id, created_at, documents, stored_bytes, added_bytes, holds_secret_key } = backup;
  return (
    <tr>
      <td title={id}>
        {created_at && <div>{formatDateTime(created_at)}</div>}
        {/* The command that restores it takes the id. */}
        <code>{id}</code>
      </td>
      <td>{documents === null ? "–" : formatNumber(documents)}</td>
      <td>{size(stored_bytes)}</td>
      <td>{size(added_bytes)}</td>
      <td>{t(holds_secret_key ? "backup.key_inside" : "backup.key_outside")}</td>
      <td>
        <Checked backup={backup} />
      </td>
      <td>
        <BackupActions backup={backup} busy={busy} />
      </td>
    </tr>
  );
}

function Checked({ backup: { damaged, verified_at, findings } }: { backup: Backup }) {
  const { t } = useTranslation("admin");
  if (damaged) return <Badge tone="danger">{t("backup.damaged")}</Badge>;
  if (!verified_at) return t("backup.unchecked");
  const when = formatRelative(verified_at);
  if (findings) return <Badge tone="danger">{t("backup.checked_faulty", { count: findings, when })}</Badge>;
  return <Badge tone="success">{t("backup.checked", { when })}</Badge>;
}

function BackupActions({ backup: { id, created_at }, busy }: { backup: Backup; busy: boolean }) {
  const { t } = useTranslation(["admin", "common"]);
  const [asks, setAsks] = useState(false);
  const verify = useBackupAct();
  // The dialog shows what went wrong.
  const remove = useBackupAct(() => undefined);
  const name = created_at ? formatDateTime(created_at) : id;
  return (
    <>
      <Menu
        trigger={<IconButton size="s" icon={MoreHorizontal} label={t("backup.more", { name })} />}
        entries={[
          {
            label: t("backup.verify"),
            icon: ShieldCheck,
            disabled: busy,
            onSelect: () => verify.mutate({ act: "verify", id }),
          },
          {
            label: t("common:action.delete"),
            icon: Trash2,
            danger: true,
            disabled: busy,
            onSelect: () => setAsks(true),
          },
        ]}
      />
      <ConfirmDialog
        open={asks}
        onClose={() => setAsks(false)}
        title={t("backup.remove_title", { name })}
        description={t("backup.remove_text")}
        action={t("common:action.delete")}
        onConfirm={() => remove.mutateAsync({ act: "remove", id })}
      />
    </>
  );
}

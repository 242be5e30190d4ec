/** What can be done with the selected documents, or with all of a status. */
import { Eye, Trash2, X } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import type { BulkAction } from "../knowledgeActions";
import type { DocumentRow } from "../queries";
import type { Status } from "../searchParams";
import type { OpenDialog } from "./DocumentDialogs";
import styles from "./Documents.module.css";
import { ACTION_ICONS, ACTIONS, ALLOWED } from "./documentEntries";

interface Props {
  documents: readonly DocumentRow[];
  total: number;
  status: Status | undefined;
  mayWrite: boolean;
  isOwner: boolean;
  busy: boolean;
  onAction: (request: BulkAction) => void;
  onDialog: (dialog: OpenDialog) => void;
  onClear: () => void;
}

export function DocumentSelectionBar(props: Props) {
  const { documents, mayWrite, status, total } = props;
  if (!mayWrite) return null;
  if (documents.length) return <Selected {...props} />;
  return status && total > 0 && status !== "completed" ? <WholeStatus {...props} status={status} /> : null;
}

function Selected({ documents, isOwner, busy, onAction, onDialog, onClear }: Props) {
  const { t } = useTranslation(["knowledge", "common"]);
  const ids = documents.map(({ id }) => id);
  return (
    <section className={styles.bar} aria-label={t("bulk.label")}>
      <strong>{t("bulk.selected", { count: documents.length })}</strong>
      {ACTIONS.map((action) => {
        const fitting = documents.filter(({ status }) => ALLOWED[action].includes(status));
        return (
          fitting.length > 0 && (
            <Button
              key={action}
              size="s"
              icon={ACTION_ICONS[action]}
              busy={busy}
              onClick={() => onAction({ action, ids: fitting.map(({ id }) => id) })}
            >
              {t(`action.${action}`)}
            </Button>
          )
        );
      })}
      {isOwner && (
        <Button size="s" icon={Eye} onClick={() => onDialog({ kind: "restrict", documents })}>
          {t("action.restrict")}
        </Button>
      )}
      <Button size="s" icon={Trash2} busy={busy} onClick={() => onDialog({ kind: "delete", ids })}>
        {t("common:action.delete")}
      </Button>
      <IconButton size="s" icon={X} label={t("bulk.clear")} onClick={onClear} />
    </section>
  );
}

function WholeStatus({ status, total, busy, onAction, onDialog }: Props & { status: Status }) {
  const { t } = useTranslation("knowledge");
  return (
    <section className={styles.bar} aria-label={t("bulk.label")}>
      <strong>{t("bulk.whole", { count: total, status: t(`status.${status}`) })}</strong>
      {ACTIONS.filter((action) => ALLOWED[action].includes(status)).map((action) => (
        <Button
          key={action}
          size="s"
          icon={ACTION_ICONS[action]}
          busy={busy}
          onClick={() => onAction({ action, status })}
        >
          {t(`bulk.all.${action}`)}
        </Button>
      ))}
      {(status === "failed" || status === "cancelled") && (
        <Button size="s" icon={Trash2} busy={busy} onClick={() => onDialog({ kind: "delete", status, count: total })}>
          {t("bulk.all.delete")}
        </Button>
      )}
    </section>
  );
}

/** Name, state and actions of a document. */
import { Link, useNavigate } from "@tanstack/react-router";
import {
  ChevronRight,
  Download,
  Info,
  Lock,
  MoreHorizontal,
  Pause,
  Pencil,
  Play,
  RotateCcw,
  Square,
  Trash2,
} from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { save } from "@/api/client";
import { Button, IconButton } from "@/components/Button";
import { Badge, type Tone } from "@/components/feedback/Badge";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { Menu } from "@/components/overlays/Menu";
import { formatBytes, formatNumber } from "@/i18n/format";
import styles from "./DocumentHeader.module.css";
import { DocumentDetails } from "./details/DocumentDetails";
import { DocumentForm } from "./details/DocumentForm";
import { contentPath, type DocumentAnswer } from "./queries";
import { actionsOf, useDocumentActions } from "./useDocumentActions";

type HeaderDialog = "details" | "edit" | "delete" | null;

interface Props {
  document: DocumentAnswer;
  knowledgeBase: string | undefined;
  isWritable: boolean;
}

export function DocumentHeader({ document, knowledgeBase, isWritable }: Props) {
  const { t } = useTranslation(["documents", "common"]);
  const [dialog, setDialog] = useState<HeaderDialog>(null);
  return (
    <header className={styles.header}>
      <div className={styles.heading}>
        <nav aria-label={t("page.place")} className={styles.place}>
          <Link to="/knowledge-bases/$kbId" params={{ kbId: document.knowledge_base_id }}>
            {knowledgeBase ?? t("common:nav.knowledge")}
          </Link>
          <ChevronRight size={14} aria-hidden />
        </nav>
        <h1 className={styles.name}>{document.name}</h1>
        <Facts document={document} />
      </div>
      <div className={styles.actions}>
        <DownloadButton document={document} />
        <Button icon={Info} onClick={() => setDialog("details")}>
          {t("details.open")}
        </Button>
        {isWritable && <ActionMenu document={document} onOpen={setDialog} />}
      </div>
      <DocumentDetails document={document} open={dialog === "details"} onClose={() => setDialog(null)} />
      {isWritable && (
        <>
          {dialog === "edit" && <DocumentForm document={document} onClose={() => setDialog(null)} />}
          <DeleteQuestion document={document} open={dialog === "delete"} onClose={() => setDialog(null)} />
        </>
      )}
    </header>
  );
}

const TONES: Partial<Record<string, Tone>> = { completed: "success", failed: "danger", processing: "info" };

const STATUS = {
  pending: "status.pending",
  processing: "status.processing",
  paused: "status.paused",
  completed: "status.completed",
  cancelled: "status.cancelled",
  failed: "status.failed",
} as const;

function Facts({ document }: { document: DocumentAnswer }) {
  const { t } = useTranslation("documents");
  const status = STATUS[document.status as keyof typeof STATUS];
  const facts: ReactNode[] = [document.file_type.toUpperCase(), formatBytes(document.file_size)];
  if (document.pages)
    facts.push(t("details.page_count", { count: document.pages, formatted: formatNumber(document.pages) }));
  return (
    <p className={styles.facts}>
      <span role="status">
        <Badge tone={TONES[document.status] ?? "warning"}>{status ? t(status) : document.status}</Badge>
      </span>
      {document.restricted && (
        <Badge tone="warning" title={t("details.restricted_hint")}>
          <Lock size={12} aria-hidden />
          {t("details.restricted")}
        </Badge>
      )}
      {facts.map((fact, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: facts have no other identity
        <span key={index}>{fact}</span>
      ))}
    </p>
  );
}

function DownloadButton({ document }: { document: DocumentAnswer }) {
  const { t } = useTranslation("common");
  const [busy, setBusy] = useState(false);
  const showError = useErrorToast();
  async function download() {
    setBusy(true);
    await save(contentPath(document)).catch(showError);
    setBusy(false);
  }
  return (
    <Button icon={Download} busy={busy} onClick={() => void download()}>
      {t("action.download")}
    </Button>
  );
}

const ICONS = { pause: Pause, resume: Play, cancel: Square, retry: RotateCcw } as const;
const LABELS = {
  pause: "action.pause",
  resume: "action.resume",
  cancel: "action.cancel_processing",
  retry: "action.process_again",
} as const;

function ActionMenu({ document, onOpen }: { document: DocumentAnswer; onOpen: (dialog: HeaderDialog) => void }) {
  const { t } = useTranslation(["documents", "common"]);
  const { act } = useDocumentActions(document);
  const showError = useErrorToast();
  return (
    <Menu
      trigger={<IconButton icon={MoreHorizontal} label={t("common:action.more")} variant="secondary" />}
      entries={[
        { label: t("action.edit"), icon: Pencil, onSelect: () => onOpen("edit") },
        ...actionsOf(document).map((action) => ({
          label: t(LABELS[action]),
          icon: ICONS[action],
          onSelect: () => act.mutate(action, { onError: showError }),
        })),
        { label: t("action.delete"), icon: Trash2, danger: true, onSelect: () => onOpen("delete") },
      ]}
    />
  );
}

function DeleteQuestion({ document, open, onClose }: { document: DocumentAnswer; open: boolean; onClose: () => void }) {
  const { t } = useTranslation(["documents", "common"]);
  const { remove } = useDocumentActions(document);
  const navigate = useNavigate();
  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title={t("delete.title")}
      description={t("delete.description", { name: document.name })}
      action={t("common:action.delete")}
      onConfirm={async () => {
        await remove.mutateAsync();
        notify(t("delete.done", { name: document.name }));
        await navigate({ to: "/knowledge-bases/$kbId", params: { kbId: document.knowledge_base_id } });
      }}
    />
  );
}

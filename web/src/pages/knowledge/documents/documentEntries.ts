/** The menu of one document. */
import { Ban, Download, Eye, Pause, Pencil, Play, RotateCcw, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import { save } from "@/api/client";
import { useErrorToast } from "@/components/feedback/toasts";
import type { MenuEntry } from "@/components/overlays/Menu";
import type { ActionName, BulkAction } from "../knowledgeActions";
import type { DocumentRow } from "../queries";
import type { OpenDialog } from "./DocumentDialogs";

/** In which states each action makes sense. */
export const ALLOWED: Record<Exclude<ActionName, "delete">, readonly string[]> = {
  pause: ["pending", "processing"],
  resume: ["paused"],
  cancel: ["pending", "processing", "paused"],
  retry: ["failed", "cancelled"],
};

export const ACTION_ICONS = { pause: Pause, resume: Play, cancel: Ban, retry: RotateCcw } as const;
export const ACTIONS = ["retry", "resume", "pause", "cancel"] as const;

export function useDocumentEntries({
  document,
  kbId,
  mayWrite,
  isOwner,
  onAction,
  onDialog,
}: {
  document: DocumentRow;
  kbId: string;
  mayWrite: boolean;
  isOwner: boolean;
  onAction: (request: BulkAction) => void;
  onDialog: (dialog: OpenDialog) => void;
}): MenuEntry[] {
  const { t } = useTranslation(["knowledge", "common"]);
  const onError = useErrorToast();
  const { id, status } = document;
  const path = `/api/v1/knowledge-bases/${encodeURIComponent(kbId)}/documents/${encodeURIComponent(id)}/content`;
  const entries: MenuEntry[] = [];
  if (mayWrite)
    for (const action of ACTIONS)
      if (ALLOWED[action].includes(status))
        entries.push({
          label: t(`action.${action}`),
          icon: ACTION_ICONS[action],
          onSelect: () => onAction({ action, ids: [id] }),
        });
  entries.push({ label: t("action.download"), icon: Download, onSelect: () => void save(path).catch(onError) });
  if (mayWrite)
    entries.push({ label: t("action.rename"), icon: Pencil, onSelect: () => onDialog({ kind: "rename", document }) });
  if (isOwner)
    entries.push({
      label: t("action.restrict"),
      icon: Eye,
      onSelect: () => onDialog({ kind: "restrict", documents: [document] }),
    });
  if (mayWrite)
    entries.push({
      label: t("common:action.delete"),
      icon: Trash2,
      danger: true,
      onSelect: () => onDialog({ kind: "delete", ids: [id], name: document.name }),
    });
  return entries;
}

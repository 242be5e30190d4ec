/** What can be done with a conversation. */
import { useQueryClient } from "@tanstack/react-query";
import { useMatchRoute, useNavigate } from "@tanstack/react-router";
import { Archive, ArchiveRestore, Download, Ellipsis, Pencil, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button, IconButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import { TextField } from "@/components/forms/Field";
import { ConfirmDialog, Dialog, DialogActions } from "@/components/overlays/Dialog";
import { Menu, type MenuEntry } from "@/components/overlays/Menu";
import { exportSession, type Session, sessionQuery, useChangeSession, useDeleteSession } from "./sessions";

export function ConversationMenu({ session }: { session: Session }) {
  const { t } = useTranslation(["chat", "common"]);
  const may = useMay();
  const toast = useErrorToast();
  const change = useChangeSession();
  const [dialog, setDialog] = useState<"rename" | "delete" | null>(null);
  const { id, title, is_archived: isArchived } = session;
  const archive = () =>
    change.mutate(
      { id, change: { is_archived: !isArchived } },
      { onSuccess: () => notify(t(isArchived ? "list.restored" : "list.archived_now")), onError: toast },
    );
  const writing: MenuEntry[] = [
    { label: t("common:action.rename"), icon: Pencil, onSelect: () => setDialog("rename") },
    {
      label: t(isArchived ? "list.restore" : "list.archive"),
      icon: isArchived ? ArchiveRestore : Archive,
      onSelect: archive,
    },
  ];
  const reading: MenuEntry[] = [
    { label: t("list.export_markdown"), icon: Download, onSelect: () => exportSession(id, "markdown").catch(toast) },
    { label: t("list.export_json"), icon: Download, onSelect: () => exportSession(id, "json").catch(toast) },
  ];
  const ending: MenuEntry[] = [
    { label: t("common:action.delete"), icon: Trash2, danger: true, onSelect: () => setDialog("delete") },
  ];
  const mayWrite = may("session:write");
  return (
    <>
      <Menu
        trigger={<IconButton size="s" icon={Ellipsis} label={t("list.menu", { title: title || t("list.untitled") })} />}
        entries={[...(mayWrite ? writing : []), ...reading, ...(mayWrite ? ending : [])]}
      />
      {dialog === "rename" && <RenameDialog session={session} onClose={() => setDialog(null)} />}
      <DeleteDialog session={session} open={dialog === "delete"} onClose={() => setDialog(null)} />
    </>
  );
}

function RenameDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const { t } = useTranslation(["chat", "common"]);
  const change = useChangeSession();
  const [title, setTitle] = useState(session.title);
  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate({ id: session.id, change: { title: title.trim() } }, { onSuccess: onClose });
  }
  return (
    <Dialog open onClose={onClose} title={t("list.rename_title")}>
      <form onSubmit={submit}>
        <TextField
          label={t("list.title")}
          value={title}
          maxLength={200}
          autoFocus
          onChange={(event) => setTitle(event.target.value)}
        />
        {change.isError && <ErrorNotice error={change.error} />}
        <DialogActions>
          <Button onClick={onClose}>{t("common:action.cancel")}</Button>
          <Button variant="primary" type="submit" busy={change.isPending} disabled={!title.trim()}>
            {t("common:action.rename")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function DeleteDialog({ session, open, onClose }: { session: Session; open: boolean; onClose: () => void }) {
  const { t } = useTranslation(["chat", "common"]);
  const remove = useDeleteSession();
  const navigate = useNavigate();
  const isShown = useIsShown(session);
  const { id, thread_id: threadId, title } = session;
  async function confirm() {
    const wasShown = isShown();
    await remove.mutateAsync({ id, threadId });
    if (wasShown) await navigate({ to: "/chat" });
  }
  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title={t("list.delete_title")}
      description={t("list.delete_question", { title: title || t("list.untitled") })}
      action={t("common:action.delete")}
      onConfirm={confirm}
    />
  );
}

/** Whether a conversation is shown, in whichever of its branches. */
function useIsShown({ thread_id: threadId, conversation_id: conversationId }: Session): () => boolean {
  const matches = useMatchRoute();
  const queries = useQueryClient();
  return () => {
    const shown = matches({ to: "/chat/$threadId" });
    if (!shown) return false;
    const session = queries.getQueryData(sessionQuery(shown.threadId).queryKey);
    return shown.threadId === threadId || (conversationId !== null && session?.conversation_id === conversationId);
  };
}

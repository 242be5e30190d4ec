/** The dialogs about documents: rename, restrict, delete. */
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { Button } from "@/components/Button";
import { TextField } from "@/components/forms/Field";
import { FormError } from "@/components/forms/FormError";
import { ConfirmDialog, Dialog, DialogActions } from "@/components/overlays/Dialog";
import styles from "../Form.module.css";
import { type BulkAction, useRefresh } from "../knowledgeActions";
import type { DocumentRow } from "../queries";
import type { Status } from "../searchParams";
import { RestrictForm } from "./RestrictForm";

export type OpenDialog =
  | { kind: "rename"; document: DocumentRow }
  | { kind: "restrict"; documents: readonly DocumentRow[] }
  | { kind: "delete"; ids: readonly string[]; name?: string }
  | { kind: "delete"; status: Status; count: number };

export function DocumentDialogs({
  kbId,
  dialog,
  onClose,
  onDelete,
}: {
  kbId: string;
  dialog: OpenDialog | null;
  onClose: () => void;
  onDelete: (request: BulkAction) => Promise<unknown>;
}) {
  const { t } = useTranslation(["knowledge", "common"]);
  if (!dialog) return null;
  if (dialog.kind === "delete") {
    const isStatus = "status" in dialog;
    const count = isStatus ? dialog.count : dialog.ids.length;
    return (
      <ConfirmDialog
        open
        onClose={onClose}
        title={t("delete_documents.title", { count })}
        description={
          !isStatus && dialog.name
            ? t("delete_documents.one", { name: dialog.name })
            : t("delete_documents.text", { count })
        }
        action={t("common:action.delete")}
        onConfirm={() =>
          onDelete(isStatus ? { action: "delete", status: dialog.status } : { action: "delete", ids: dialog.ids })
        }
      />
    );
  }
  const isRename = dialog.kind === "rename";
  return (
    <Dialog
      open
      onClose={onClose}
      title={isRename ? t("rename.title") : t("restrict.title", { count: dialog.documents.length })}
      description={t(isRename ? "rename.text" : "restrict.text")}
    >
      {isRename ? (
        <RenameForm kbId={kbId} document={dialog.document} onClose={onClose} />
      ) : (
        <RestrictForm kbId={kbId} documents={dialog.documents} onClose={onClose} />
      )}
    </Dialog>
  );
}

function RenameForm({ kbId, document, onClose }: { kbId: string; document: DocumentRow; onClose: () => void }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const refresh = useRefresh(kbId);
  const [name, setName] = useState(document.name);
  const rename = useMutation({
    mutationFn: () =>
      call(
        api.PUT("/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}", {
          params: { path: { kb_id: kbId, doc_id: document.id } },
          body: { name: name.trim() },
        }),
      ),
    onSuccess: async () => {
      onClose();
      await refresh();
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    rename.mutate();
  }
  return (
    <form className={styles.form} onSubmit={submit}>
      <TextField
        label={t("field.name")}
        value={name}
        required
        autoFocus
        maxLength={1000}
        onChange={(event) => setName(event.target.value)}
      />
      {rename.isError && <FormError error={rename.error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button type="submit" variant="primary" busy={rename.isPending} disabled={!name.trim()}>
          {t("common:action.rename")}
        </Button>
      </DialogActions>
    </form>
  );
}

/** Questions from a file: JSON Lines or CSV. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { notify } from "@/components/feedback/toasts";
import { CheckboxField, TextField } from "@/components/forms/Field";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";

export function QuestionImportDialog({ kbId, onClose }: { kbId: string; onClose: () => void }) {
  const { t } = useTranslation(["search", "common"]);
  const id = useId();
  const queries = useQueryClient();
  const [file, setFile] = useState<File | null>(null);
  const [replace, setReplace] = useState(false);
  const send = useMutation({
    mutationFn: (chosen: File) =>
      call(
        api.POST("/api/v1/knowledge-bases/{kb_id}/questions/import", {
          params: { path: { kb_id: kbId }, query: { replace } },
          body: { file: "" },
          bodySerializer: () => {
            const form = new FormData();
            form.append("file", chosen);
            return form;
          },
        }),
      ),
    onSuccess: async (counts) => {
      await queries.invalidateQueries({ queryKey: ["questions", kbId] });
      notify(t("import.done", { added: counts.added, extended: counts.extended, unchanged: counts.unchanged }));
      onClose();
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (file) send.mutate(file);
  }
  return (
    <Dialog open onClose={onClose} title={t("import.title")} description={t("import.lead")}>
      <form id={id} onSubmit={submit}>
        <TextField
          type="file"
          accept=".jsonl,.csv,.ndjson,.json"
          label={t("import.file")}
          hint={t("import.file_hint")}
          required
          onChange={(event) => setFile(event.target.files?.[0] ?? null)}
        />
      </form>
      <CheckboxField label={t("import.replace")} checked={replace} onChange={setReplace} />
      {replace && <Notice tone="warning">{t("import.replace_warning")}</Notice>}
      {send.error && <ErrorNotice error={send.error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button type="submit" form={id} variant={replace ? "danger" : "primary"} busy={send.isPending} disabled={!file}>
          {t("import.submit")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** The dialog that makes a knowledge base of an export file. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { call } from "@/api/client";
import { authorizedFetch } from "@/api/session";
import { Button } from "@/components/Button";
import { notify } from "@/components/feedback/toasts";
import { TextField } from "@/components/forms/Field";
import { FormError } from "@/components/forms/FormError";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import styles from "./Form.module.css";
import type { Transfer } from "./queries";

export function ImportKnowledgeBase({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { t } = useTranslation("knowledge");
  return (
    <Dialog open={open} onClose={onClose} title={t("import.title")} description={t("import.text")}>
      <ImportForm onClose={onClose} />
    </Dialog>
  );
}

async function send(file: File, name: string): Promise<Transfer> {
  const form = new FormData();
  if (name) form.append("name", name);
  form.append("file", file);
  return call(
    authorizedFetch("/api/v1/knowledge-bases/import", { method: "POST", body: form }).then(async (response) => {
      const body = await response.json().catch(() => undefined);
      return response.ok ? { data: body as { data: Transfer }, response } : { error: body ?? {}, response };
    }),
  );
}

function ImportForm({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const queries = useQueryClient();
  const [file, setFile] = useState<File | null>(null);
  const [name, setName] = useState("");
  const bring = useMutation({
    mutationFn: (chosen: File) => send(chosen, name.trim()),
    onSuccess: async ({ facts }) => {
      notify(t("import.started", { name: facts.name }));
      onClose();
      await queries.invalidateQueries({ queryKey: ["transfers"] });
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (file) bring.mutate(file);
  }
  return (
    <form className={styles.form} onSubmit={submit}>
      <TextField
        type="file"
        accept=".akb"
        label={t("import.file")}
        required
        onChange={(event) => setFile(event.target.files?.[0] ?? null)}
      />
      <TextField
        label={t("import.name")}
        hint={t("import.name_hint")}
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      {bring.isError && <FormError error={bring.error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button type="submit" variant="primary" busy={bring.isPending} disabled={!file}>
          {t("import.submit")}
        </Button>
      </DialogActions>
    </form>
  );
}

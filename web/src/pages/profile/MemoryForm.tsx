/** A dialog that adds a memory or puts another text in its place. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { TextAreaField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { useDraft } from "@/components/forms/useDraft";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";

export function MemoryForm({ memory, onClose }: { memory: Schemas["MemoryAnswer"] | null; onClose: () => void }) {
  const { t } = useTranslation(["profile", "common"]);
  const queries = useQueryClient();
  const { draft, change, forget } = useDraft(`memory.${memory?.id ?? "new"}`, { text: memory?.text ?? "" });
  const body = { text: draft.text.trim() };
  const save = useMutation({
    mutationFn: () =>
      memory
        ? call(api.PATCH("/api/v1/memories/{memory_id}", { params: { path: { memory_id: memory.id } }, body }))
        : call(api.POST("/api/v1/memories", { body })),
    onSuccess: async () => {
      forget();
      notify(t("common:state.saved"));
      onClose();
      await queries.invalidateQueries({ queryKey: ["memories"] });
    },
  });
  return (
    <Dialog open onClose={onClose} title={t(memory ? "memory.edit" : "memory.add")}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <TextAreaField
          label={t("memory.text")}
          hint={t("memory.text_hint")}
          value={draft.text}
          maxLength={2000}
          onChange={(event) => change({ text: event.target.value })}
          required
        />
        {save.isError && <ErrorNotice error={save.error} />}
        <DialogActions>
          <Button onClick={onClose}>{t("common:action.cancel")}</Button>
          <Button type="submit" variant="primary" busy={save.isPending} disabled={!body.text}>
            {t("common:action.save")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

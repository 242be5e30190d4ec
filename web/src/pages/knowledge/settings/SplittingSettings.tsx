/** How documents are cut and embedded; another way makes all documents anew. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { Button } from "@/components/Button";
import { Notice } from "@/components/feedback/Notice";
import { notify } from "@/components/feedback/toasts";
import { CheckboxField } from "@/components/forms/Field";
import { FormError } from "@/components/forms/FormError";
import { useDraft } from "@/components/forms/useDraft";
import { Card, Section } from "@/components/layout/Page";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import styles from "../Form.module.css";
import { useRefresh } from "../knowledgeActions";
import { isUnderWay, type KnowledgeBase, type Reindex } from "../queries";
import { type Splitting, sameSplitting, splittingOf, splittingProblem } from "./presets";
import { SplitPreview } from "./SplitPreview";
import { EmbeddingModelField, SplittingFields } from "./SplittingFields";

type Wish = Splitting & { embedding_model: string };

export function SplittingSettings({ base, reindex }: { base: KnowledgeBase; reindex: Reindex | undefined }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const present: Wish = { ...splittingOf(base), embedding_model: base.embedding_model };
  const { draft, change, forget } = useDraft<Wish>(`splitting.${base.id}.${base.generation}`, present);
  const [asks, setAsks] = useState<"change" | "force" | null>(null);
  const isChanged = !sameSplitting(draft, present) || draft.embedding_model !== present.embedding_model;
  const isBusy = isUnderWay(reindex);
  const isWrong = splittingProblem(draft) !== null;
  const hasDocuments = base.document_count > 0;
  return (
    <section id="splitting">
      <Section title={t("settings.splitting")}>
        <Card className={styles.form}>
          <SplittingFields value={draft} onChange={change} disabled={isBusy} />
          <EmbeddingModelField
            value={draft.embedding_model}
            onChange={(embedding_model) => change({ embedding_model })}
            disabled={isBusy}
          />
          {isBusy && <Notice>{t("reindex.locked")}</Notice>}
          {isChanged && !isBusy && hasDocuments && (
            <Notice tone="warning">{t("reindex.warning", { count: base.document_count })}</Notice>
          )}
          <div className={styles.actions}>
            <Button variant="primary" disabled={!isChanged || isBusy || isWrong} onClick={() => setAsks("change")}>
              {t(hasDocuments ? "reindex.start" : "common:action.save")}
            </Button>
            {isChanged && !isBusy && <Button onClick={() => change(present)}>{t("settings.undo")}</Button>}
            {!isChanged && hasDocuments && !isBusy && (
              <Button onClick={() => setAsks("force")}>{t("reindex.force")}</Button>
            )}
          </div>
          <SplitPreview kbId={base.id} splitting={draft} isWrong={isWrong} hasDocuments={hasDocuments} />
        </Card>
      </Section>
      <StartDialog
        base={base}
        wish={draft}
        force={asks === "force"}
        open={asks !== null}
        onClose={() => setAsks(null)}
        onStarted={forget}
      />
    </section>
  );
}

function StartDialog({
  base,
  wish,
  force,
  open,
  onClose,
  onStarted,
}: {
  base: KnowledgeBase;
  wish: Wish;
  force: boolean;
  open: boolean;
  onClose: () => void;
  onStarted: () => void;
}) {
  const { t } = useTranslation(["knowledge", "common"]);
  const refresh = useRefresh(base.id);
  const [isManual, setManual] = useState(false);
  const start = useMutation({
    mutationFn: () =>
      call(
        api.POST("/api/v1/knowledge-bases/{kb_id}/reindex", {
          params: { path: { kb_id: base.id } },
          body: { ...wish, cutover: isManual ? "manual" : "auto", force },
        }),
      ),
    onSuccess: async () => {
      onStarted();
      onClose();
      notify(t(base.document_count ? "reindex.started" : "common:state.saved"));
      await refresh();
    },
  });
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={t("reindex.confirm", { count: base.document_count })}
      description={t("reindex.confirm_text")}
    >
      <ul className={styles.points}>
        <li>{t("reindex.point_search")}</li>
        <li>{t("reindex.point_edits")}</li>
        <li>{t("reindex.point_gate")}</li>
        <li>{t("reindex.point_rollback")}</li>
      </ul>
      <CheckboxField label={t("reindex.manual")} checked={isManual} onChange={setManual} />
      {start.isError && <FormError error={start.error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button variant="primary" busy={start.isPending} onClick={() => start.mutate()}>
          {t("reindex.start")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

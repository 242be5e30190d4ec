/** Export, copy and deletion of a knowledge base. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Copy, Download, Pause, Play, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call, save } from "@/api/client";
import { Button } from "@/components/Button";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import { TextField } from "@/components/forms/Field";
import { FormError } from "@/components/forms/FormError";
import { Card, Section } from "@/components/layout/Page";
import { ConfirmDialog, Dialog, DialogActions } from "@/components/overlays/Dialog";
import form from "../Form.module.css";
import { usePauseBase } from "../knowledgeActions";
import { type KnowledgeBase, progressQuery } from "../queries";
import styles from "./Settings.module.css";

export function UpkeepSettings({ base, isOwner }: { base: KnowledgeBase; isOwner: boolean }) {
  const { t } = useTranslation("knowledge");
  const mayWrite = useMay()("kb:write");
  return (
    <Section title={t("settings.upkeep")}>
      <Card className={styles.upkeep}>
        {mayWrite && base.can_write && <PauseLine base={base} />}
        <ExportLine base={base} />
        {mayWrite && <CopyLine base={base} />}
        {isOwner && <DeleteLine base={base} />}
      </Card>
    </Section>
  );
}

function Line({ title, text, children }: { title: string; text: string; children: ReactNode }) {
  return (
    <div className={styles.line}>
      <div>
        <h3>{title}</h3>
        <p className={form.small}>{text}</p>
      </div>
      {children}
    </div>
  );
}

function PauseLine({ base }: { base: KnowledgeBase }) {
  const { t } = useTranslation("knowledge");
  const paused = useQuery(progressQuery(base.id)).data?.paused;
  const pause = usePauseBase(base.id);
  if (paused === undefined) return null;
  return (
    <Line title={t("pause.title")} text={t(paused ? "pause.paused_text" : "pause.text")}>
      <Button icon={paused ? Play : Pause} busy={pause.isPending} onClick={() => pause.mutate(!paused)}>
        {t(paused ? "action.resume" : "action.pause")}
      </Button>
    </Line>
  );
}

function ExportLine({ base }: { base: KnowledgeBase }) {
  const { t } = useTranslation("knowledge");
  const write = useMutation({
    mutationFn: () => save(`/api/v1/knowledge-bases/${encodeURIComponent(base.id)}/export`),
    onError: useErrorToast(),
  });
  return (
    <Line title={t("export.title")} text={t("export.text")}>
      <Button icon={Download} busy={write.isPending} onClick={() => write.mutate()}>
        {t(write.isPending ? "export.running" : "export.button")}
      </Button>
    </Line>
  );
}

function CopyLine({ base }: { base: KnowledgeBase }) {
  const { t } = useTranslation("knowledge");
  const [open, setOpen] = useState(false);
  return (
    <Line title={t("copy.title")} text={t("copy.text")}>
      <Button icon={Copy} onClick={() => setOpen(true)}>
        {t("copy.button")}
      </Button>
      <Dialog open={open} onClose={() => setOpen(false)} title={t("copy.title")} description={t("copy.text")}>
        <CopyForm base={base} onClose={() => setOpen(false)} />
      </Dialog>
    </Line>
  );
}

function CopyForm({ base, onClose }: { base: KnowledgeBase; onClose: () => void }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const copy = useMutation({
    mutationFn: () =>
      call(
        api.POST("/api/v1/knowledge-bases/{kb_id}/copy", {
          params: { path: { kb_id: base.id } },
          body: { name: name.trim() || null },
        }),
      ),
    onSuccess: ({ facts }) => {
      notify(t("copy.started", { name: facts.name }));
      onClose();
      void queries.invalidateQueries({ queryKey: ["transfers"] });
      return navigate({ to: "/knowledge-bases" });
    },
  });
  return (
    <>
      <TextField
        label={t("import.name")}
        hint={t("copy.name_hint")}
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      {copy.isError && <FormError error={copy.error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button variant="primary" busy={copy.isPending} onClick={() => copy.mutate()}>
          {t("copy.button")}
        </Button>
      </DialogActions>
    </>
  );
}

function DeleteLine({ base }: { base: KnowledgeBase }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  async function remove() {
    await call(
      api.DELETE("/api/v1/knowledge-bases/{kb_id}", { params: { path: { kb_id: base.id } } }) as Promise<{
        response: Response;
        error?: unknown;
      }>,
    );
    await navigate({ to: "/knowledge-bases" });
    queries.removeQueries({ queryKey: ["knowledge-base", base.id] });
    await queries.invalidateQueries({ queryKey: ["knowledge-bases"] });
  }
  return (
    <Line title={t("delete_base.title")} text={t("delete_base.text", { count: base.document_count })}>
      <Button variant="danger" icon={Trash2} onClick={() => setOpen(true)}>
        {t("common:action.delete")}
      </Button>
      <ConfirmDialog
        open={open}
        onClose={() => setOpen(false)}
        title={t("delete_base.question", { name: base.name })}
        description={t("delete_base.text", { count: base.document_count })}
        action={t("common:action.delete")}
        onConfirm={remove}
      />
    </Line>
  );
}

/** The dialog that makes a knowledge base: its name, and a preset of how documents are cut. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { Button } from "@/components/Button";
import { notify } from "@/components/feedback/toasts";
import { SwitchField, TextAreaField, TextField } from "@/components/forms/Field";
import { FormError } from "@/components/forms/FormError";
import { useDraft } from "@/components/forms/useDraft";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import styles from "./Form.module.css";
import { PRESET_NAMES, PRESETS, type PresetName, type Splitting, splittingProblem } from "./settings/presets";
import { EmbeddingModelField, SplittingFields } from "./settings/SplittingFields";
import { useFailureText } from "./useFailureText";

interface KnowledgeBaseDraft extends Splitting {
  name: string;
  description: string;
  is_public: boolean;
  embedding_model: string;
  preset: PresetName | "own";
}

const BLANK: KnowledgeBaseDraft = {
  name: "",
  description: "",
  is_public: false,
  embedding_model: "",
  preset: "general",
  ...PRESETS.general,
};

export function CreateKnowledgeBase({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { t } = useTranslation("knowledge");
  return (
    <Dialog open={open} onClose={onClose} title={t("create.title")} wide>
      <CreateForm onClose={onClose} />
    </Dialog>
  );
}

function useCreate(forget: () => void) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const said = useFailureText();
  return useMutation({
    mutationFn: ({ preset: _, embedding_model, name, ...rest }: KnowledgeBaseDraft) =>
      call(
        api.POST("/api/v1/knowledge-bases", {
          body: { ...rest, name: name.trim(), embedding_model: embedding_model || null },
        }),
      ),
    onSuccess: (base) => {
      forget();
      for (const notice of base.notices) notify(said(notice).message);
      void queries.invalidateQueries({ queryKey: ["knowledge-bases"] });
      return navigate({ to: "/knowledge-bases/$kbId", params: { kbId: base.id } });
    },
  });
}

function CreateForm({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const { draft, change, forget } = useDraft<KnowledgeBaseDraft>("knowledge-base", BLANK);
  const create = useCreate(forget);
  const isReady = draft.name.trim() !== "" && !splittingProblem(draft);
  function submit(event: FormEvent) {
    event.preventDefault();
    if (isReady) create.mutate(draft);
  }
  return (
    <form className={styles.form} onSubmit={submit}>
      <TextField
        label={t("field.name")}
        value={draft.name}
        maxLength={200}
        required
        autoFocus
        onChange={(event) => change({ name: event.target.value })}
      />
      <TextAreaField
        label={t("field.description")}
        hint={t("field.description_hint")}
        rows={2}
        maxLength={10000}
        value={draft.description}
        onChange={(event) => change({ description: event.target.value })}
      />
      <PresetChoice
        chosen={draft.preset}
        onChoose={(preset) => change({ preset, ...(preset !== "own" && PRESETS[preset]) })}
      />
      {draft.preset === "own" && <SplittingFields value={draft} onChange={change} />}
      <EmbeddingModelField
        value={draft.embedding_model}
        onChange={(embedding_model) => change({ embedding_model })}
        withDefault
      />
      <SwitchField
        label={t("field.public")}
        hint={t("field.public_hint")}
        checked={draft.is_public}
        onChange={(is_public) => change({ is_public })}
      />
      {create.isError && <FormError error={create.error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button type="submit" variant="primary" busy={create.isPending} disabled={!isReady}>
          {t("common:action.create")}
        </Button>
      </DialogActions>
    </form>
  );
}

function PresetChoice({
  chosen,
  onChoose,
}: {
  chosen: PresetName | "own";
  onChoose: (preset: PresetName | "own") => void;
}) {
  const { t } = useTranslation("knowledge");
  return (
    <fieldset className={styles.choices}>
      <legend>{t("create.preset")}</legend>
      {[...PRESET_NAMES, "own" as const].map((name) => (
        <label key={name} className={styles.choice}>
          <input type="radio" name="preset" checked={chosen === name} onChange={() => onChoose(name)} />
          <span>
            <strong>{t(`preset.${name}.title`)}</strong>
            <span className={styles.small}>{t(`preset.${name}.text`)}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

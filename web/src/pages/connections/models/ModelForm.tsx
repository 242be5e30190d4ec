/** A dialog that registers or changes a language model, and tests it at once. */
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { Dialog, DialogActions } from "@/components/Dialog";
import { ErrorNotice } from "@/components/ErrorNotice";
import { SelectField, SwitchField, TextField } from "@/components/Field";
import styles from "../Form.module.css";
import { useDraft } from "../useDraft";
import { ModelAccess } from "./ModelAccess";
import { ModelOptions } from "./ModelOptions";
import { TestOutcome, useModelTest } from "./ModelTest";
import { bodyOf, draftOf, type ModelDraft, NEW_MODEL, type Provider, parseObject } from "./modelDraft";
import { providersQuery, type RegisteredModel, saveModel, useInvalidateModels } from "./modelQueries";

interface Props {
  /** The model to change, null for a new one. */
  model: RegisteredModel | null;
  /** Whether a new one is meant to answer where none is named. */
  isFirst: boolean;
  onClose: () => void;
}

export function ModelForm({ model: opened, isFirst, onClose }: Props) {
  const { t } = useTranslation("connections");
  const [saved, setSaved] = useState<RegisteredModel | null>(null);
  const [editing, setEditing] = useState(true);
  const model = saved ?? opened;
  const initial = model ? draftOf(model) : { ...NEW_MODEL, isDefault: isFirst };
  const { draft, change, forget } = useDraft(`model.${opened?.id ?? "new"}`, initial, ["apiKey"]);
  const test = useModelTest();
  const invalidate = useInvalidateModels();
  async function save() {
    const row = await saveModel(model?.id ?? null, bodyOf(draft, model));
    forget();
    change({ apiKey: "" });
    forget();
    setSaved(row);
    setEditing(false);
    test.mutate(row.id);
    await invalidate();
  }
  return (
    <Dialog open onClose={onClose} title={t(opened ? "model.edit" : "model.add")}>
      {editing ? (
        <Fields draft={draft} change={change} model={model} onSave={save} onClose={onClose} />
      ) : (
        <>
          <TestOutcome test={test} />
          <DialogActions>
            <Button onClick={() => setEditing(true)}>{t("model.back")}</Button>
            <Button onClick={() => model && test.mutate(model.id)} busy={test.isPending}>
              {t("model.test_again")}
            </Button>
            <Button variant="primary" onClick={onClose} disabled={test.isPending}>
              {t("model.done")}
            </Button>
          </DialogActions>
        </>
      )}
    </Dialog>
  );
}

interface FieldsProps {
  draft: ModelDraft;
  change: (part: Partial<ModelDraft>) => void;
  model: RegisteredModel | null;
  onSave: () => Promise<void>;
  onClose: () => void;
}

function Fields({ draft, change, model, onSave, onClose }: FieldsProps) {
  const { t } = useTranslation(["connections", "common"]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const isReadable = parseObject(draft.options) !== undefined;
  async function submit(event: FormEvent) {
    event.preventDefault();
    if (!isReadable) return;
    setBusy(true);
    setError(null);
    try {
      await onSave();
    } catch (cause) {
      setError(cause);
    } finally {
      setBusy(false);
    }
  }
  return (
    <form className={styles.form} onSubmit={submit}>
      <Endpoint draft={draft} change={change} model={model} />
      <SwitchField
        label={t("model.is_default")}
        hint={t("model.is_default_hint")}
        checked={draft.isDefault}
        onChange={(isDefault) => change({ isDefault })}
      />
      <ModelOptions draft={draft} change={change} />
      <ModelAccess draft={draft} change={change} model={model} />
      {error !== null && <ErrorNotice error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button type="submit" variant="primary" busy={busy}>
          {t("model.save_and_test")}
        </Button>
      </DialogActions>
    </form>
  );
}

function Endpoint({ draft, change, model }: Pick<FieldsProps, "draft" | "change" | "model">) {
  const { t } = useTranslation("connections");
  const providers = useQuery(providersQuery);
  const known = providers.data?.find(({ name }) => name === draft.provider);
  const options = (providers.data ?? [{ name: draft.provider }]).map(({ name }) => ({
    value: name,
    label: t(`provider.${name as Provider}`),
  }));
  const keyHint = model?.has_secret ? "model.key_kept" : known?.needs_key ? "model.key_needed" : "model.key_optional";
  return (
    <>
      <SelectField
        label={t("model.provider")}
        options={options}
        value={draft.provider}
        onChange={(event) => change({ provider: event.target.value as Provider })}
      />
      <TextField
        label={t("model.model_id")}
        hint={t("model.model_id_hint")}
        value={draft.modelId}
        onChange={(event) => change({ modelId: event.target.value })}
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        required
      />
      <TextField
        label={t("model.key")}
        hint={t(keyHint)}
        type="password"
        autoComplete="off"
        value={draft.apiKey}
        onChange={(event) => change({ apiKey: event.target.value })}
        required={known?.needs_key === true && !model?.has_secret}
      />
      <TextField
        label={t("model.base_url")}
        hint={known?.base_url ? t("model.base_url_preset") : t("model.base_url_hint")}
        type="url"
        placeholder={known?.base_url ?? ""}
        value={draft.baseUrl}
        onChange={(event) => change({ baseUrl: event.target.value })}
        required={known?.base_url === null}
        spellCheck={false}
      />
      <TextField
        label={t("model.name")}
        hint={t("model.name_hint")}
        placeholder={draft.modelId}
        value={draft.name}
        onChange={(event) => change({ name: event.target.value })}
        maxLength={100}
      />
    </>
  );
}

/** A dialog that registers or changes a language model, which can be tested before it is saved. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { SelectField, SwitchField, TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { FormDialog } from "@/components/forms/FormDialog";
import { useDraft } from "@/components/forms/useDraft";
import { ModelAccess } from "./ModelAccess";
import { ModelOptions } from "./ModelOptions";
import { TestOutcome } from "./ModelTest";
import { bodyOf, draftOf, type ModelDraft, NEW_MODEL, type Provider, parseObject } from "./modelDraft";
import { providersQuery, type RegisteredModel, saveModel, testModelDraft, useInvalidateModels } from "./modelQueries";

interface Props {
  /** The model to change, null for a new one. */
  model: RegisteredModel | null;
  /** Whether a new one is meant to answer where none is named. */
  isFirst: boolean;
  onClose: () => void;
}

export function ModelForm({ model, isFirst, onClose }: Props) {
  const { t } = useTranslation(["connections", "common"]);
  const initial = model ? draftOf(model) : { ...NEW_MODEL, isDefault: isFirst };
  const { draft, change: changeDraft, forget } = useDraft(`model.${model?.id ?? "new"}`, initial, ["apiKey"]);
  const test = useMutation({ mutationFn: () => testModelDraft(model?.id ?? null, bodyOf(draft, model)) });
  const invalidate = useInvalidateModels();
  const isReadable = parseObject(draft.options) !== undefined;
  function change(part: Partial<ModelDraft>) {
    // What was tested is something else now.
    if (!test.isIdle) test.reset();
    changeDraft(part);
  }
  async function save() {
    await saveModel(model?.id ?? null, bodyOf(draft, model));
    await invalidate();
  }
  function close() {
    forget();
    onClose();
  }
  return (
    <FormDialog
      title={t(model ? "model.edit" : "model.add")}
      action={t("common:action.save")}
      disabled={!isReadable}
      wide
      onSend={save}
      onClose={close}
      actions={
        <Button
          busy={test.isPending}
          disabled={!isReadable}
          onClick={(event) => event.currentTarget.form?.reportValidity() && test.mutate()}
        >
          {t("model.test")}
        </Button>
      }
    >
      <Endpoint draft={draft} change={change} model={model} />
      <SwitchField
        label={t("model.is_default")}
        hint={t("model.is_default_hint")}
        checked={draft.isDefault}
        onChange={(isDefault) => change({ isDefault })}
      />
      <ModelOptions draft={draft} change={change} />
      <ModelAccess draft={draft} change={change} />
      <TestOutcome test={test} />
    </FormDialog>
  );
}

interface FieldsProps {
  draft: ModelDraft;
  change: (part: Partial<ModelDraft>) => void;
  model: RegisteredModel | null;
}

function Endpoint({ draft, change, model }: FieldsProps) {
  const { t } = useTranslation("connections");
  const providers = useQuery(providersQuery);
  const known = providers.data?.find(({ name }) => name === draft.provider);
  const options = (providers.data ?? [{ name: draft.provider }]).map(({ name }) => ({
    value: name,
    label: t(`provider.${name as Provider}`),
  }));
  const keyHint = model?.has_secret ? "model.key_kept" : known?.needs_key ? "model.key_needed" : "model.key_optional";
  return (
    <div className={styles.pair}>
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
    </div>
  );
}

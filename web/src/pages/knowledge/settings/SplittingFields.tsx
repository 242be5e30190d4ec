/** How documents are cut, and which model turns the passages into vectors. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { embeddingModelsQuery } from "@/api/models";
import { SelectField, TextField } from "@/components/forms/Field";
import styles from "../Form.module.css";
import { CHUNK_SIZES, SPLITTERS, type Splitting, splitterKey, splittingProblem } from "./presets";

export function SplittingFields({
  value,
  onChange,
  disabled,
}: {
  value: Splitting;
  onChange: (part: Partial<Splitting>) => void;
  disabled?: boolean;
}) {
  const { t } = useTranslation("knowledge");
  const problem = splittingProblem(value);
  return (
    <>
      <SelectField
        label={t("field.splitter")}
        hint={t(`splitter.${splitterKey(value.splitter)}.text`)}
        value={value.splitter}
        disabled={disabled}
        options={SPLITTERS.map((name) => ({ value: name, label: t(`splitter.${splitterKey(name)}.title`) }))}
        onChange={(event) => onChange({ splitter: SPLITTERS.find((name) => name === event.target.value) })}
      />
      <div className={styles.pair}>
        <TextField
          label={t("field.chunk_size")}
          hint={t("field.chunk_size_hint")}
          error={problem === "size" && t("field.chunk_size_error", CHUNK_SIZES)}
          type="number"
          inputMode="numeric"
          min={CHUNK_SIZES.least}
          max={CHUNK_SIZES.most}
          disabled={disabled}
          value={Number.isNaN(value.chunk_size) ? "" : value.chunk_size}
          onChange={(event) => onChange({ chunk_size: event.target.valueAsNumber })}
        />
        <TextField
          label={t("field.chunk_overlap")}
          hint={t("field.chunk_overlap_hint")}
          error={problem === "overlap" && t("field.chunk_overlap_error")}
          type="number"
          inputMode="numeric"
          min={0}
          disabled={disabled}
          value={Number.isNaN(value.chunk_overlap) ? "" : value.chunk_overlap}
          onChange={(event) => onChange({ chunk_overlap: event.target.valueAsNumber })}
        />
      </div>
    </>
  );
}

export function EmbeddingModelField({
  value,
  onChange,
  withDefault,
  disabled,
}: {
  value: string;
  onChange: (model: string) => void;
  /** Whether nothing need be chosen. */
  withDefault?: boolean;
  disabled?: boolean;
}) {
  const { t } = useTranslation("knowledge");
  const models = useQuery(embeddingModelsQuery).data ?? [];
  const described = models.map(({ name, languages }) => ({
    value: name,
    label: languages?.length ? t("field.model_languages", { name, count: languages.length }) : name,
  }));
  const isKnown = !value || models.some(({ name }) => name === value);
  const preset = models.find(({ is_default }) => is_default)?.name;
  if (withDefault && models.length < 2) return null;
  return (
    <SelectField
      label={t("field.embedding_model")}
      hint={t("field.embedding_model_hint")}
      value={value}
      disabled={disabled}
      options={[
        ...(withDefault ? [{ value: "", label: t("field.model_default", { name: preset ?? "" }) }] : []),
        ...(isKnown ? [] : [{ value, label: value }]),
        ...described,
      ]}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** A skill as a form: each field is changed where it stands in the text. */
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { ApiError } from "@/api/errors";
import { useErrorText } from "@/components/ErrorNotice";
import { SelectField, SwitchField } from "@/components/Field";
import { currentLanguage } from "@/i18n";
import type { FormEdits, FormField } from "../useFormEdits";
import { CommitField } from "./CommitField";
import styles from "./form.module.css";
import { ParamList } from "./ParamList";
import { StepList } from "./StepList";
import { TextList } from "./TextList";
import { readNames } from "./values";

interface Props {
  parsed: Schemas["ParsedSkill"] | null;
  edits: FormEdits;
  readOnly: boolean;
}

const LISTS = ["trigger_conditions", "not_for", "outputs", "constraints"] as const;

export function SkillForm({ parsed, edits, readOnly }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  if (!parsed) return <p className={styles.note}>{t("preview.unreadable")}</p>;
  const { edit } = edits;
  const list = (field: (typeof LISTS)[number]) => (
    <>
      <TextList
        label={t(`form.${field}`)}
        values={field === "trigger_conditions" && parsed.triggers_derived ? [] : parsed[field]}
        disabled={readOnly}
        onCommit={(values) => edit(field, values)}
      />
      <FieldError edits={edits} field={field} />
    </>
  );
  return (
    <div className={styles.form}>
      <p className={styles.note}>{t(readOnly ? "form.lead_read" : "form.lead")}</p>
      <CommitField
        label={t("form.name")}
        value={parsed.name}
        disabled={readOnly}
        onCommit={(value) => edit("name", value)}
      />
      <FieldError edits={edits} field="name" />
      <CommitField
        label={t("form.description")}
        hint={t("form.description_hint")}
        value={parsed.description}
        multiline
        disabled={readOnly}
        onCommit={(value) => edit("description", value)}
      />
      <FieldError edits={edits} field="description" />
      <MetadataFields metadata={parsed.metadata ?? {}} edits={edits} disabled={readOnly} />
      {list("trigger_conditions")}
      {list("not_for")}
      <ParamList params={parsed.input_params} disabled={readOnly} onCommit={(params) => edit("input_params", params)} />
      <FieldError edits={edits} field="input_params" />
      <StepList steps={parsed.steps} disabled={readOnly} onCommit={(steps) => edit("steps", steps)} />
      <FieldError edits={edits} field="steps" />
      {list("outputs")}
      {list("constraints")}
      <ToolsField tools={parsed.tools ?? null} edits={edits} disabled={readOnly} />
    </div>
  );
}

/** What the file says of itself: where it stands in the library, and whether its steps are strict. */
function MetadataFields({
  metadata,
  edits,
  disabled,
}: {
  metadata: Record<string, string>;
  edits: FormEdits;
  disabled: boolean;
}) {
  const { t } = useTranslation(["skills", "common"]);
  const change = (key: string, value: string) => {
    const { [key]: _, ...others } = metadata;
    void edits.edit("metadata", value ? { ...metadata, [key]: value } : others);
  };
  return (
    <>
      <div className={styles.pair}>
        <CommitField
          label={t("form.category")}
          value={metadata.category ?? ""}
          disabled={disabled}
          onCommit={(value) => change("category", value)}
        />
        <CommitField
          label={t("form.tags")}
          hint={t("form.commas")}
          value={metadata.tags ?? ""}
          disabled={disabled}
          onCommit={(value) => change("tags", readNames(value).join(", "))}
        />
      </div>
      <SwitchField
        label={t("form.strict")}
        hint={t("form.strict_hint")}
        checked={metadata.strict === "true"}
        disabled={disabled}
        onChange={(strict) => change("strict", strict ? "true" : "")}
      />
      <FieldError edits={edits} field="metadata" />
    </>
  );
}

function ToolsField({
  tools,
  edits,
  disabled,
}: {
  tools: readonly string[] | null;
  edits: FormEdits;
  disabled: boolean;
}) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <>
      <SelectField
        label={t("form.tools")}
        hint={t("form.tools_hint")}
        value={tools === null ? "any" : "only"}
        disabled={disabled}
        options={[
          { value: "any", label: t("form.tools_any") },
          { value: "only", label: t("form.tools_only") },
        ]}
        onChange={(event) => edits.edit("tools", event.target.value === "any" ? null : [])}
      />
      {tools !== null && (
        <TextList
          label={t("form.allowed_tools")}
          values={tools}
          disabled={disabled}
          onCommit={(names) => edits.edit("tools", names)}
        />
      )}
      <FieldError edits={edits} field="tools" />
    </>
  );
}

/** Why the last change of a field was not made. */
function FieldError({ edits, field }: { edits: FormEdits; field: FormField }) {
  const { t } = useTranslation(["skills", "common"]);
  const text = useErrorText();
  const error = edits.errors[field];
  if (error === undefined) return null;
  return (
    <p role="alert" className={styles.error}>
      {t("form.refused", { reason: reasonOf(error) ?? text(error) })}
    </p>
  );
}

function reasonOf(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null;
  const reason = error.details[currentLanguage() === "zh" ? "error_zh" : "error"];
  return typeof reason === "string" ? reason : null;
}

/** A skill as a form: each field is changed where it stands in the text. */
import { memo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { reasonsOf, useErrorText } from "@/components/feedback/ErrorNotice";
import type { FormEdits, SkillField } from "../useFormEdits";
import { CommitField } from "./CommitField";
import { FieldExamples, hasExamples } from "./FieldExamples";
import styles from "./form.module.css";
import { MetadataFields } from "./MetadataFields";
import { ParamList } from "./ParamList";
import { StepList } from "./StepList";
import { TextList } from "./TextList";
import { ToolsField } from "./ToolsField";

interface Props {
  parsed: Schemas["ParsedSkill"] | null;
  edits: FormEdits;
  readOnly: boolean;
}

const LISTS = ["trigger_conditions", "not_for", "outputs", "constraints"] as const;

/** Drawn anew when there is another verdict, not with each key that is typed into the text. */
export const SkillForm = memo(function SkillForm({ parsed, edits, readOnly }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  if (!parsed) return <p className={styles.note}>{t("preview.unreadable")}</p>;
  const { edit } = edits;
  const after = { edits, readOnly };
  const list = (field: (typeof LISTS)[number]) => (
    <>
      <TextList
        label={t(`form.${field}`)}
        values={field === "trigger_conditions" && parsed.triggers_derived ? [] : parsed[field]}
        disabled={readOnly}
        onCommit={(values) => edit(field, values)}
      />
      <AfterField field={field} {...after} />
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
      <AfterField field="name" {...after} />
      <CommitField
        label={t("form.description")}
        hint={t("form.description_hint")}
        value={parsed.description}
        multiline
        disabled={readOnly}
        onCommit={(value) => edit("description", value)}
      />
      <AfterField field="description" {...after} />
      <MetadataFields
        metadata={parsed.metadata ?? {}}
        onCommit={(pairs) => edit("metadata", pairs)}
        disabled={readOnly}
      />
      <AfterField field="metadata" {...after} />
      {list("trigger_conditions")}
      {list("not_for")}
      <ParamList params={parsed.input_params} disabled={readOnly} onCommit={(params) => edit("input_params", params)} />
      <AfterField field="input_params" {...after} />
      <StepList steps={parsed.steps} disabled={readOnly} onCommit={(steps) => edit("steps", steps)} />
      <AfterField field="steps" {...after} />
      {list("outputs")}
      {list("constraints")}
      <ToolsField tools={parsed.tools ?? null} onCommit={(tools) => edit("tools", tools)} disabled={readOnly} />
      <AfterField field="tools" {...after} />
    </div>
  );
});

/** Why the last change of a field was not made, and what would be good to write there. */
function AfterField({ edits, field, readOnly }: { edits: FormEdits; field: SkillField; readOnly: boolean }) {
  const { t } = useTranslation(["skills", "common"]);
  const text = useErrorText();
  const error = edits.errors[field];
  return (
    <>
      {error !== undefined && (
        <p role="alert" className={styles.error}>
          {t("form.refused", { reason: reasonsOf(error)[0] ?? text(error) })}
        </p>
      )}
      {!readOnly && hasExamples(field) && <FieldExamples field={field} />}
    </>
  );
}

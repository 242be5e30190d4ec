/** A message for the rule's owner. */
import { useTranslation } from "react-i18next";
import { SelectField, TextAreaField, TextField } from "@/components/forms/Field";
import type { ActionFieldsProps } from "./fields";

type Level = "info" | "warning" | "error";
const LEVELS: readonly Level[] = ["info", "warning", "error"];

export function NotifyFields({ action, template, onChange }: ActionFieldsProps<"notify">) {
  const { t } = useTranslation("rules");
  const { params } = action;
  const change = (part: Partial<typeof params>) => onChange({ ...action, params: { ...params, ...part } });
  return (
    <>
      <SelectField
        label={t("then.level")}
        value={params.level ?? "info"}
        options={LEVELS.map((value) => ({ value, label: t(`then.level_${value}`) }))}
        onChange={({ target }) => change({ level: target.value as Level })}
      />
      <TextField
        label={t("then.notify_title")}
        hint={t("then.template_hint", { example: template })}
        value={params.title}
        maxLength={500}
        onChange={({ target }) => change({ title: target.value })}
        required
      />
      <TextAreaField
        label={t("then.notify_text")}
        value={params.text}
        maxLength={10_000}
        onChange={({ target }) => change({ text: target.value })}
        required
      />
    </>
  );
}

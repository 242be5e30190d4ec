/** What is searched for, and where. */
import { useTranslation } from "react-i18next";
import { ChoiceGroup } from "@/components/forms/ChoiceGroup";
import { TextField } from "@/components/forms/Field";
import { NO_CHOICES, useOptions } from "@/pages/chat/composer/choices";
import type { ActionFieldsProps } from "./fields";

export function SearchFields({ action, template, onChange }: ActionFieldsProps<"search">) {
  const { t } = useTranslation("rules");
  const { params } = action;
  const { knowledgeBases } = useOptions({ ...NO_CHOICES, knowledgeBases: params.knowledge_base_ids });
  const change = (part: Partial<typeof params>) => onChange({ ...action, params: { ...params, ...part } });
  return (
    <>
      <TextField
        label={t("then.query")}
        hint={t("then.template_hint", { example: template })}
        value={params.query}
        maxLength={10_000}
        onChange={({ target }) => change({ query: target.value })}
        required
      />
      <ChoiceGroup
        title={t("then.knowledge_bases")}
        none={t("then.some_knowledge_bases")}
        options={knowledgeBases}
        chosen={params.knowledge_base_ids}
        onChange={(chosen) => change({ knowledge_base_ids: [...chosen] })}
      />
      <TextField
        label={t("then.top_k")}
        type="number"
        min={1}
        max={50}
        step={1}
        value={params.top_k ?? 5}
        onChange={({ target }) => change({ top_k: target.valueAsNumber || 1 })}
      />
    </>
  );
}

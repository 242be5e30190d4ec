/** What an agent is asked, and what it may use. */
import { useTranslation } from "react-i18next";
import { ChoiceGroup } from "@/components/forms/ChoiceGroup";
import { SelectField, TextAreaField, TextField } from "@/components/forms/Field";
import formStyles from "@/components/forms/Form.module.css";
import { NO_CHOICES, useOptions } from "@/pages/chat/composer/choices";
import { AGENT_TYPES } from "@/pages/chat/message/toolNames";
import type { ActionFieldsProps } from "./fields";

export function AgentRunFields({ action, template, onChange }: ActionFieldsProps<"agent_run">) {
  const { t } = useTranslation(["rules", "chat"]);
  const { params } = action;
  const budget = params.budget ?? {};
  const bases = params.knowledge_base_ids ?? [];
  const { models, knowledgeBases, skills } = useOptions({ ...NO_CHOICES, knowledgeBases: bases });
  const change = (part: Partial<typeof params>) => onChange({ ...action, params: { ...params, ...part } });
  return (
    <>
      <TextAreaField
        label={t("then.prompt")}
        hint={t("then.template_hint", { example: template })}
        value={params.prompt}
        maxLength={10_000}
        onChange={({ target }) => change({ prompt: target.value })}
        required
      />
      <div className={formStyles.pair}>
        <SelectField
          label={t("then.agent")}
          value={action.target ?? ""}
          options={[
            { value: "", label: t("then.agent_default") },
            ...AGENT_TYPES.map((type) => ({ value: type, label: t(`chat:agent.${type}.name`) })),
          ]}
          onChange={({ target }) => onChange({ ...action, target: target.value || null })}
        />
        <SelectField
          label={t("then.model")}
          value={params.model_id ?? ""}
          options={[
            { value: "", label: t("then.model_default") },
            ...models.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          onChange={({ target }) => change({ model_id: target.value || null })}
        />
      </div>
      <div className={formStyles.pair}>
        <TextField
          label={t("then.max_tokens")}
          hint={t("then.budget_hint")}
          type="number"
          min={1000}
          max={10_000_000}
          step={1}
          value={budget.max_tokens ?? ""}
          onChange={({ target }) => change({ budget: { ...budget, max_tokens: target.valueAsNumber || null } })}
        />
        <TextField
          label={t("then.timeout")}
          hint={t("then.budget_hint")}
          type="number"
          min={5}
          max={3600}
          step={1}
          value={budget.timeout_seconds ?? ""}
          onChange={({ target }) => change({ budget: { ...budget, timeout_seconds: target.valueAsNumber || null } })}
        />
      </div>
      <ChoiceGroup
        title={t("then.knowledge_bases")}
        none={t("then.all_knowledge_bases")}
        options={knowledgeBases}
        chosen={bases}
        onChange={(chosen) => change({ knowledge_base_ids: [...chosen] })}
      />
      <ChoiceGroup
        title={t("then.skills")}
        none={t("then.all_skills")}
        options={skills}
        chosen={params.skill_ids ?? []}
        onChange={(chosen) => change({ skill_ids: [...chosen] })}
      />
    </>
  );
}

/** The fields for what is chosen once for a conversation. */
import { useTranslation } from "react-i18next";
import { ChoiceGroup } from "@/components/forms/ChoiceGroup";
import { SelectField } from "@/components/forms/Field";
import { AGENT_TYPES, isAgentType } from "../message/toolNames";
import styles from "./ChoiceFields.module.css";
import { type Choices, type Option, useOptions } from "./choices";

export interface ChoiceFieldsProps {
  choices: Choices;
  onChange: (choices: Choices) => void;
}

export function ChoiceFields({ choices, onChange }: ChoiceFieldsProps) {
  const { t } = useTranslation("chat");
  const { models, knowledgeBases, skills, connections } = useOptions(choices);
  const change = (part: Partial<Choices>) => onChange({ ...choices, ...part });
  const standard = models.find(({ is_default }) => is_default);
  return (
    <div className={styles.fields}>
      <SelectField
        label={t("choice.agent")}
        hint={t(`agent.${choices.agentType}.purpose`)}
        options={AGENT_TYPES.map((type) => ({ value: type, label: t(`agent.${type}.name`) }))}
        value={choices.agentType}
        onChange={({ target }) => isAgentType(target.value) && change({ agentType: target.value })}
      />
      {models.length > 1 && (
        <SelectField
          label={t("choice.model")}
          options={[
            { value: "", label: t("choice.default_model", { name: standard?.name ?? "" }) },
            ...models.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={choices.modelId}
          onChange={({ target }) => change({ modelId: target.value })}
        />
      )}
      <ChoiceGroup
        title={t("choice.knowledge_bases")}
        none={t("choice.all_knowledge_bases")}
        options={knowledgeBases}
        chosen={choices.knowledgeBases}
        onChange={(chosen) => change({ knowledgeBases: chosen })}
      />
      <ChoiceGroup
        title={t("choice.skills")}
        none={t("choice.all_skills")}
        options={skills}
        chosen={choices.skills}
        onChange={(chosen) => change({ skills: chosen })}
      />
      <ChoiceGroup
        title={t("choice.connections")}
        none={t("choice.all_connections")}
        options={connections}
        chosen={choices.connections}
        onChange={(chosen) => change({ connections: chosen })}
      />
    </div>
  );
}

/** The choices in a line of words. */
export function useChoiceSummary(choices: Choices): string {
  const { t } = useTranslation("chat");
  const { models, knowledgeBases, skills, connections } = useOptions(choices);
  const named = (options: readonly Option[], chosen: readonly string[]) =>
    options.filter(({ id }) => chosen.includes(id)).map(({ name }) => name);
  return [
    t(`agent.${choices.agentType}.name`),
    ...named(models, [choices.modelId]),
    choices.knowledgeBases.length > 0
      ? named(knowledgeBases, choices.knowledgeBases).join(", ")
      : t("choice.all_bases_short"),
    ...named(skills, choices.skills),
    ...named(connections, choices.connections),
  ]
    .filter(Boolean)
    .join(" · ");
}

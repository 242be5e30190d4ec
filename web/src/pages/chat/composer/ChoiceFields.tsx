/** The fields for what is chosen once for a conversation. */
import { useTranslation } from "react-i18next";
import { CheckboxField, SelectField } from "@/components/forms/Field";
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
      <Selection
        title={t("choice.knowledge_bases")}
        none={t("choice.all_knowledge_bases")}
        options={knowledgeBases}
        chosen={choices.knowledgeBases}
        onChange={(chosen) => change({ knowledgeBases: chosen })}
      />
      <Selection
        title={t("choice.skills")}
        none={t("choice.all_skills")}
        options={skills}
        chosen={choices.skills}
        onChange={(chosen) => change({ skills: chosen })}
      />
      <Selection
        title={t("choice.connections")}
        none={t("choice.all_connections")}
        options={connections}
        chosen={choices.connections}
        onChange={(chosen) => change({ connections: chosen })}
      />
    </div>
  );
}

interface SelectionProps {
  title: string;
  /** What it means that none is chosen. */
  none: string;
  options: readonly Option[];
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}

function Selection({ title, none, options, chosen, onChange }: SelectionProps) {
  if (options.length === 0) return null;
  return (
    <fieldset className={styles.group}>
      <legend>{title}</legend>
      <p className={styles.hint}>{none}</p>
      <div className={styles.options}>
        {options.map(({ id, name }) => (
          <CheckboxField
            key={id}
            label={name}
            checked={chosen.includes(id)}
            onChange={(checked) => onChange(checked ? [...chosen, id] : chosen.filter((one) => one !== id))}
          />
        ))}
      </div>
    </fieldset>
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

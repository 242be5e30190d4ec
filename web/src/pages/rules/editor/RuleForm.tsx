/** A rule as a form: when, if, then, and how often at most. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { TextField } from "@/components/forms/Field";
import formStyles from "@/components/forms/Form.module.css";
import { Card, Section } from "@/components/layout/Page";
import { type EventType, eventTypesQuery, SCHEDULE } from "../ruleQueries";
import { ActionList } from "./actions/ActionList";
import { ConditionList } from "./conditions/ConditionList";
import type { Definition } from "./definition";
import { pathsOf } from "./eventPaths";
import { TriggerFields } from "./TriggerFields";

const EVENT_FACTS = ["event.id", "event.type", "event.time"];
const USUAL_TEMPLATE = "{{player.name}}";

interface Props {
  definition: Definition;
  onChange: (definition: Definition) => void;
}

export function RuleForm({ definition, onChange }: Props) {
  const { t } = useTranslation("rules");
  const { data } = useQuery(eventTypesQuery());
  const types = data?.event_types ?? [];
  const paths = dataPaths(definition.trigger_config, types);
  const template = paths[0] ? `{{${paths[0]}}}` : USUAL_TEMPLATE;
  const change = (part: Partial<Definition>) => onChange({ ...definition, ...part });
  const conditions = definition.conditions ?? [];
  return (
    <div className={formStyles.form}>
      <NameFields definition={definition} onChange={change} />
      <Part title={t("form.when")}>
        <TriggerFields
          trigger={definition.trigger_config}
          types={types}
          onChange={(trigger_config) => change({ trigger_config })}
        />
      </Part>
      <Part title={t("form.if")}>
        {conditions.length === 0 && <p className={formStyles.hint}>{t("if.none")}</p>}
        <ConditionList
          nodes={conditions}
          paths={[...paths, ...EVENT_FACTS]}
          onChange={(next) => change({ conditions: next })}
        />
        {conditions.length > 0 && <p className={formStyles.hint}>{t("if.value_hint")}</p>}
        {conditions.length > 2 && <p className={formStyles.hint}>{t("if.precedence")}</p>}
      </Part>
      <Part title={t("form.then")}>
        <ActionList
          actions={definition.actions}
          sourceId={definition.trigger_config.source_id ?? undefined}
          template={template}
          onChange={(actions) => change({ actions })}
        />
      </Part>
      <Part title={t("form.rest")}>
        <CooldownFields definition={definition} template={template} onChange={change} />
      </Part>
    </div>
  );
}

function Part({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <Section title={title}>
      <Card className={formStyles.form}>{children}</Card>
    </Section>
  );
}

interface FieldsProps {
  definition: Definition;
  onChange: (part: Partial<Definition>) => void;
}

function NameFields({ definition, onChange }: FieldsProps) {
  const { t } = useTranslation("rules");
  return (
    <div className={formStyles.pair}>
      <TextField
        label={t("form.name")}
        value={definition.name}
        maxLength={100}
        onChange={({ target }) => onChange({ name: target.value })}
        required
      />
      <TextField
        label={t("form.description")}
        value={definition.description ?? ""}
        maxLength={1_000}
        onChange={({ target }) => onChange({ description: target.value })}
      />
    </div>
  );
}

function CooldownFields({ definition, template, onChange }: FieldsProps & { template: string }) {
  const { t } = useTranslation("rules");
  const { cooldown, cooldown_key: key } = definition;
  return (
    <div className={formStyles.pair}>
      <TextField
        label={t("rest.seconds")}
        type="number"
        min={0}
        max={2_592_000}
        step="any"
        value={(cooldown ?? 0) / 1000}
        onChange={({ target }) => onChange({ cooldown: Math.round((target.valueAsNumber || 0) * 1000) })}
      />
      <TextField
        label={t("rest.key")}
        hint={t("rest.key_hint", { example: template })}
        value={key ?? ""}
        maxLength={1_000}
        spellCheck={false}
        onChange={({ target }) => onChange({ cooldown_key: target.value || null })}
      />
    </div>
  );
}

/** The paths that events of a rule have, as far as that is known. */
function dataPaths({ event_type: name, source_id }: Definition["trigger_config"], types: readonly EventType[]) {
  const type = types.find((each) => each.type === name && (!source_id || each.source_id === source_id));
  if (!type) return name === SCHEDULE ? ["due_at", "is_late"] : [];
  return [...new Set([...pathsOf(type.schema), ...pathsOf(type.example)])];
}

/** What triggers a rule: events of a source, or a schedule. */
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { SelectField, TextField } from "@/components/forms/Field";
import formStyles from "@/components/forms/Form.module.css";
import { Disclosure } from "@/components/overlays/Disclosure";
import { formatNumber, formatRelative } from "@/i18n/format";
import { type EventType, PLATFORM, SCHEDULE } from "../ruleQueries";
import { useSources } from "../useSources";
import type { Definition } from "./definition";
import { ScheduleFields } from "./ScheduleFields";
import { NEW_SCHEDULE } from "./schedules";

type Trigger = Definition["trigger_config"];

const ANY = "any";

interface Props {
  trigger: Trigger;
  /** The types of events of all sources. */
  types: readonly EventType[];
  onChange: (trigger: Trigger) => void;
}

export function TriggerFields({ trigger, types, onChange }: Props) {
  const { t } = useTranslation("rules");
  const sources = useSources();
  const [chosen, setChosen] = useState<string | null>(null);
  const kind = chosen ?? kindOf(trigger, types);
  const named = [...sources.connections, ...sources.webhooks];
  function choose(next: string) {
    setChosen(next);
    if (next === SCHEDULE) onChange({ event_type: SCHEDULE, schedule: NEW_SCHEDULE });
    else onChange({ event_type: "", ...(named.some(({ id }) => id === next) && { source_id: next }) });
  }
  return (
    <>
      <div className={formStyles.pair}>
        <SelectField
          label={t("when.kind")}
          value={kind}
          options={[
            { value: PLATFORM, label: t("when.platform") },
            { value: SCHEDULE, label: t("when.schedule") },
            ...named.map(({ id, name }) => ({ value: id, label: name })),
            // It may be gone, and is named all the same.
            ...(named.some(({ id }) => id === kind) || [PLATFORM, SCHEDULE, ANY].includes(kind)
              ? []
              : [{ value: kind, label: sources.nameOf(kind) ?? t("source.unknown") }]),
            { value: ANY, label: t("when.any") },
          ]}
          onChange={({ target }) => choose(target.value)}
        />
        {kind !== SCHEDULE && <EventTypeField trigger={trigger} kind={kind} types={types} onChange={onChange} />}
      </div>
      {trigger.schedule && (
        <ScheduleFields schedule={trigger.schedule} onChange={(schedule) => onChange({ ...trigger, schedule })} />
      )}
      <EventTypeFacts type={typeOf(trigger, kind, types)} />
    </>
  );
}

function kindOf({ event_type, source_id, schedule }: Trigger, types: readonly EventType[]): string {
  if (schedule) return SCHEDULE;
  if (source_id) return source_id;
  const isPlatform = types.some(({ source_id: source, type }) => source === PLATFORM && type === event_type);
  return isPlatform || event_type === "" ? PLATFORM : ANY;
}

function typeOf({ event_type }: Trigger, kind: string, types: readonly EventType[]): EventType | undefined {
  return types.find(({ type, source_id }) => type === event_type && (kind === ANY || source_id === kind));
}

function EventTypeField({ trigger, kind, types, onChange }: Props & { kind: string }) {
  const { t } = useTranslation("rules");
  const list = useId();
  const offered = types.filter(({ source_id }) => kind === ANY || source_id === kind);
  const set = (event_type: string) => onChange({ ...trigger, event_type });
  if (kind === PLATFORM)
    return (
      <SelectField
        label={t("when.event_type")}
        value={trigger.event_type}
        options={[
          { value: "", label: t("then.choose"), disabled: true },
          ...offered.map(({ type, description }) => ({ value: type, label: description || type })),
        ]}
        onChange={({ target }) => set(target.value)}
        required
      />
    );
  return (
    <>
      <TextField
        label={t("when.event_type")}
        // Those of Agentex are always there: without any, nothing is known yet.
        hint={t(offered.length || types.length === 0 ? "when.event_type_hint" : "when.no_types")}
        list={list}
        value={trigger.event_type}
        maxLength={200}
        spellCheck={false}
        onChange={({ target }) => set(target.value)}
        required
      />
      <datalist id={list}>
        {[...new Set(offered.map(({ type }) => type))].map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
    </>
  );
}

/** What is known of the events: how often they came, and what their data look like. */
function EventTypeFacts({ type }: { type: EventType | undefined }) {
  const { t } = useTranslation("rules");
  if (!type) return null;
  const { count, last_seen_at: seen, description } = type;
  return (
    <div>
      {type.source_id !== PLATFORM && description && <p className={formStyles.hint}>{description}</p>}
      {seen && (
        <p className={formStyles.hint}>{t("when.seen", { count: formatNumber(count), when: formatRelative(seen) })}</p>
      )}
      <Disclosure title={t("when.example")} plain>
        <pre className={formStyles.code}>{JSON.stringify(type.example ?? type.schema, null, 2)}</pre>
      </Disclosure>
    </div>
  );
}

/** What the rule would do at an event: one that was logged, or one that is written here. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { SelectField } from "@/components/forms/Field";
import formStyles from "@/components/forms/Form.module.css";
import { Card, Section } from "@/components/layout/Page";
import { formatRelative } from "@/i18n/format";
import { eventTypesQuery, logsQuery, type RuleLogEntry, sent } from "../../ruleQueries";
import type { Definition } from "../definition";
import { JsonField } from "../JsonField";
import { DryRunResult } from "./DryRunResult";

interface Props {
  /** Undefined while the rule can't be read. */
  definition: Definition | undefined;
  ruleId: string | undefined;
  isOwn: boolean;
  /** The entry of the log that the page was opened for. */
  logId: string | undefined;
}

type SampleData = NonNullable<Schemas["SampleEvent"]["data"]>;

export function DryRunPanel({ definition, ruleId, isOwn, logId }: Props) {
  const { t } = useTranslation("rules");
  const { data: entries, isLoading } = useQuery({ ...logsQuery(ruleId ?? "", {}), enabled: ruleId !== undefined });
  const [picked, pick] = useState(logId);
  const [written, write] = useState<SampleData>();
  const example = useExample(definition);
  const dryRun = useMutation({ mutationFn: tryRule });
  const data = written ?? example;
  const logged = entries?.items ?? [];
  // Examples of events are known to the owner alone; who reads the rule sees those of its log.
  const chosen = picked ?? (isOwn ? "" : (logged[0]?.id ?? ""));
  function start() {
    if (!definition) return;
    const event = { type: definition.trigger_config.event_type, data };
    dryRun.mutate({ definition, ruleId, isOwn, ...(chosen ? { logId: chosen } : { event }) });
  }
  return (
    <Section title={t("dry_run.title")}>
      <Card className={formStyles.form}>
        <p className={formStyles.hint}>{t("dry_run.text")}</p>
        {ruleId && (logged.length > 0 || chosen) && <EventSelect entries={logged} chosen={chosen} onChange={pick} />}
        {!chosen && <JsonField label={t("dry_run.data")} value={data} onChange={write} />}
        <div>
          <Button busy={dryRun.isPending} disabled={!definition || (!isOwn && isLoading)} onClick={start}>
            {t("dry_run.run")}
          </Button>
        </div>
        <div role="status" className={formStyles.form}>
          {dryRun.isError && <ErrorNotice error={dryRun.error} />}
          {dryRun.data && <DryRunResult run={dryRun.data} />}
        </div>
      </Card>
    </Section>
  );
}

interface SelectProps {
  entries: readonly RuleLogEntry[];
  chosen: string;
  onChange: (logId: string) => void;
}

function EventSelect({ entries, chosen, onChange }: SelectProps) {
  const { t } = useTranslation("rules");
  const isListed = entries.some(({ id }) => id === chosen);
  return (
    <SelectField
      label={t("dry_run.event")}
      value={chosen}
      options={[
        { value: "", label: t("dry_run.own") },
        ...(chosen && !isListed ? [{ value: chosen, label: t("dry_run.older") }] : []),
        ...entries.map(({ id, event_type: type, executed_at }) => ({
          value: id,
          label: t("dry_run.logged", { type, when: formatRelative(executed_at) }),
        })),
      ]}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

/** An event of the rule's type, as it was seen or declared. */
function useExample(definition: Definition | undefined): SampleData {
  const { data } = useQuery(eventTypesQuery());
  const { event_type, source_id } = definition?.trigger_config ?? {};
  const type = data?.event_types.find(
    (each) => each.type === event_type && (!source_id || each.source_id === source_id),
  );
  return (type?.example ?? type?.schema ?? {}) as SampleData;
}

interface Attempt {
  definition: Definition;
  ruleId: string | undefined;
  isOwn: boolean;
  logId?: string;
  event?: { type: string; data: SampleData };
}

function tryRule({ definition, ruleId, isOwn, logId, event }: Attempt) {
  const sample = logId ? { log_id: logId } : { test_event: event };
  if (ruleId && !isOwn) {
    const params = { path: { rule_id: ruleId } };
    return call(api.POST("/api/v1/rules/{rule_id}/test", { params, body: sample }));
  }
  const body = { ...definition, ...(ruleId && { rule_id: ruleId }), ...sample };
  return call(api.POST("/api/v1/rules/test", { body: sent(body) }));
}

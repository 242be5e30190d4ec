/** What triggers a rule, in words. */
import { useTranslation } from "react-i18next";
import type { RuleItem } from "./ruleQueries";

export function useTriggerWords(): (rule: RuleItem) => string {
  const { t } = useTranslation("rules");
  return ({ trigger_config: { event_type: type, source_id: source, schedule }, source_name: name }) => {
    if (schedule) return t("trigger.scheduled", { cron: schedule.cron, zone: schedule.timezone });
    return source ? t("trigger.of", { type, source: name ?? t("source.unknown") }) : type;
  };
}

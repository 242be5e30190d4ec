/** What triggers a rule, in words. */
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { useSources } from "./useSources";

export function useTriggerWords(): (trigger: Schemas["Trigger"]) => string {
  const { t } = useTranslation("rules");
  const { nameOf } = useSources();
  return ({ event_type: type, source_id: source, schedule }) => {
    if (schedule) return t("trigger.scheduled", { cron: schedule.cron, zone: schedule.timezone });
    return source ? t("trigger.of", { type, source: nameOf(source) ?? t("source.unknown") }) : type;
  };
}

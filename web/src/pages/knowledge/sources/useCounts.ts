/** The counts of a sync in words. */
import { useTranslation } from "react-i18next";
import { formatNumber } from "@/i18n/format";
import { OUTCOMES } from "./sourceQueries";

export function useCounts(): (counts: Record<string, number>) => string {
  const { t } = useTranslation("knowledge");
  return (counts) =>
    OUTCOMES.filter((outcome) => counts[outcome])
      .map((outcome) =>
        t("source.counted", { number: formatNumber(counts[outcome] ?? 0), outcome: t(`source.outcome.${outcome}`) }),
      )
      .join(t("source.between"));
}

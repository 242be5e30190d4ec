/** How often a source is synchronized, in words. */
import { useTranslation } from "react-i18next";
import { formatNumber } from "@/i18n/format";

const UNITS = [
  ["week", 10_080],
  ["day", 1440],
  ["hour", 60],
  ["minute", 1],
] as const;

type Unit = (typeof UNITS)[number][0];

/** The largest unit of which an interval is a whole number: 90 minutes are not two hours. */
export function unitsOf(minutes: number): [number, Unit] {
  const [unit, size] = UNITS.find(([, size]) => minutes % size === 0) ?? ["minute", 1];
  return [minutes / size, unit];
}

export function useSyncInterval(): (minutes: number) => string {
  const { t } = useTranslation("knowledge");
  return (minutes) => {
    if (minutes === 0) return t("source.on_request");
    const [count, unit] = unitsOf(minutes);
    if (count === 1) return t(`source.each.${unit}`);
    return t("source.interval", { duration: formatNumber(count, { style: "unit", unit, unitDisplay: "long" }) });
  };
}

/** Values of settings as texts, and texts as values. */
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { formatBytes, formatNumber } from "@/i18n/format";

export type RuntimeSetting = Schemas["ConfigItem"];
type Value = RuntimeSetting["value"];

/** The text that a form begins with. */
export function settingText(value: Value): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** The value that a text means; the server says whether it may be that. */
export function readSetting(type: RuntimeSetting["type"], text: string): boolean | number | string[] {
  if (type === "boolean") return text === "true";
  if (type === "targets") return text.split(/[\s,，]+/).filter(Boolean);
  return Number(text);
}

/** The least and the greatest value; lists are bounded by their length, which is not shown. */
export function boundsOf(setting: RuntimeSetting): [number | null, number | null] {
  const isNumber = setting.type === "integer" || setting.type === "number";
  return isNumber ? [setting.minimum, setting.maximum] : [null, null];
}

/** A value in words. */
export function useReadable(setting: Pick<RuntimeSetting, "key">): (value: Value) => string {
  const { t } = useTranslation("admin");
  return (value) => {
    if (typeof value === "boolean") return t(`setting.${value}`);
    if (Array.isArray(value)) return value.length > 0 ? value.join(", ") : t("setting.nothing");
    if (typeof value !== "number") return String(value);
    return setting.key.endsWith("_bytes") && value > 0 ? formatBytes(value) : formatNumber(value);
  };
}

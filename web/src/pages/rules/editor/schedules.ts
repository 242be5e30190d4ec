/** Usual times of schedules, as cron expressions. */
import type { Schemas } from "@/api/client";

export type Schedule = Schemas["ScheduleTrigger"];

export const PRESETS = {
  hourly: "0 * * * *",
  daily: "0 9 * * *",
  weekdays: "0 9 * * MON-FRI",
  weekly: "0 9 * * MON",
  monthly: "0 9 1 * *",
} as const;
export type Preset = keyof typeof PRESETS;

export const PRESET_NAMES = Object.keys(PRESETS) as Preset[];

export const NEW_SCHEDULE: Schedule = {
  cron: PRESETS.daily,
  timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  catch_up_minutes: 60,
};

export function presetOf(cron: string): Preset | undefined {
  return PRESET_NAMES.find((name) => PRESETS[name] === cron);
}

/** The time zones that the browser knows. */
export const TIME_ZONES: readonly string[] = Intl.supportedValuesOf("timeZone");

/** When a schedule is due. */
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { SelectField, TextField } from "@/components/forms/Field";
import formStyles from "@/components/forms/Form.module.css";
import { PRESET_NAMES, PRESETS, type Preset, presetOf, type Schedule, TIME_ZONES } from "./schedules";

const CUSTOM = "custom";

export function ScheduleFields({ schedule, onChange }: { schedule: Schedule; onChange: (schedule: Schedule) => void }) {
  const { t } = useTranslation("rules");
  const zones = useId();
  const preset = presetOf(schedule.cron);
  const [isCustom, setCustom] = useState(preset === undefined);
  const change = (part: Partial<Schedule>) => onChange({ ...schedule, ...part });
  function choose(value: string) {
    setCustom(value === CUSTOM);
    if (value !== CUSTOM) change({ cron: PRESETS[value as Preset] });
  }
  return (
    <div className={formStyles.pair}>
      <SelectField
        label={t("when.often")}
        value={isCustom || !preset ? CUSTOM : preset}
        options={[
          ...PRESET_NAMES.map((value) => ({ value, label: t(`when.preset.${value}`) })),
          { value: CUSTOM, label: t("when.custom") },
        ]}
        onChange={({ target }) => choose(target.value)}
      />
      {(isCustom || !preset) && (
        <TextField
          label={t("when.cron")}
          hint={t("when.cron_hint")}
          className={formStyles.mono}
          value={schedule.cron}
          maxLength={200}
          spellCheck={false}
          onChange={({ target }) => change({ cron: target.value })}
          required
        />
      )}
      <TextField
        label={t("when.timezone")}
        list={zones}
        value={schedule.timezone ?? ""}
        maxLength={64}
        spellCheck={false}
        onChange={({ target }) => change({ timezone: target.value })}
        required
      />
      <datalist id={zones}>
        {TIME_ZONES.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <TextField
        label={t("when.catch_up")}
        hint={t("when.catch_up_hint")}
        type="number"
        min={0}
        max={1440}
        step={1}
        value={schedule.catch_up_minutes ?? 0}
        onChange={({ target }) => change({ catch_up_minutes: target.valueAsNumber || 0 })}
      />
    </div>
  );
}

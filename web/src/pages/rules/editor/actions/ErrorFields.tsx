/** What happens when an action fails. */
import { useTranslation } from "react-i18next";
import { SelectField, TextField } from "@/components/forms/Field";
import formStyles from "@/components/forms/Form.module.css";
import type { Action } from "../definition";

const CHOICES = ["continue", "stop", "retry"] as const;
type OnError = (typeof CHOICES)[number];
const USUAL = { attempts: 3, backoff_ms: 1000 };

export function ErrorFields({ action, onChange }: { action: Action; onChange: (action: Action) => void }) {
  const { t } = useTranslation("rules");
  const { on_error, retry, ...rest } = action;
  const chosen = on_error ?? "continue";
  const set = (next: OnError) =>
    onChange({ ...rest, on_error: next, ...(next === "retry" && { retry: USUAL }) } as Action);
  return (
    <div className={formStyles.pair}>
      <SelectField
        label={t("then.on_error")}
        value={chosen}
        options={CHOICES.map((value) => ({ value, label: t(`then.on_error_${value}`) }))}
        onChange={({ target }) => set(target.value as OnError)}
      />
      {chosen === "retry" &&
        (["attempts", "backoff_ms"] as const).map((field) => (
          <TextField
            key={field}
            label={t(field === "attempts" ? "then.attempts" : "then.backoff")}
            type="number"
            min={field === "attempts" ? 1 : 0}
            max={field === "attempts" ? 5 : 600_000}
            step={1}
            value={(retry ?? USUAL)[field]}
            onChange={({ target }) =>
              onChange({ ...action, retry: { ...USUAL, ...retry, [field]: target.valueAsNumber || 0 } } as Action)
            }
          />
        ))}
    </div>
  );
}

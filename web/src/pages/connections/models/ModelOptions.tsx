/** The part of a model's form that few need: limits, prices, capabilities and options as JSON. */
import { useTranslation } from "react-i18next";
import { SelectField, TextAreaField, TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { type ModelDraft, parseObject } from "./modelDraft";

interface Props {
  draft: ModelDraft;
  change: (part: Partial<ModelDraft>) => void;
}

const NUMBERS = [
  ["maxTokens", "model.max_tokens", 1, 10_000_000, 1],
  ["temperature", "model.temperature", 0, 2, 0.1],
  ["inputPrice", "model.input_price", 0, 1_000_000, "any"],
  ["outputPrice", "model.output_price", 0, 1_000_000, "any"],
  ["contextWindow", "model.context_window", 1024, 100_000_000, 1],
] as const;

export function ModelOptions({ draft, change }: Props) {
  const { t } = useTranslation("connections");
  const isReadable = parseObject(draft.options) !== undefined;
  return (
    <details className={styles.more} open={!isReadable || undefined}>
      <summary>{t("model.more")}</summary>
      <div className={styles.form}>
        <div className={styles.pair}>
          {NUMBERS.map(([field, label, min, max, step]) => (
            <TextField
              key={field}
              label={t(label)}
              type="number"
              min={min}
              max={max}
              step={step}
              value={draft[field]}
              placeholder={t("model.preset")}
              onChange={(event) => change({ [field]: event.target.value })}
            />
          ))}
          <SelectField
            label={t("model.tools")}
            options={(["", "auto", "native", "text", "none"] as const).map((value) => ({
              value,
              label: t(`model.tools_choice.${value || "preset"}`),
            }))}
            value={draft.tools}
            onChange={(event) => change({ tools: event.target.value as ModelDraft["tools"] })}
          />
          <SelectField
            label={t("model.vision")}
            options={(["", "yes", "no"] as const).map((value) => ({
              value,
              label: t(`model.vision_choice.${value || "preset"}`),
            }))}
            value={draft.vision}
            onChange={(event) => change({ vision: event.target.value as ModelDraft["vision"] })}
          />
        </div>
        <TextAreaField
          label={t("model.options")}
          hint={t("model.options_hint")}
          error={isReadable ? undefined : t("model.options_unreadable")}
          rows={3}
          className={styles.mono}
          spellCheck={false}
          placeholder={'{ "attempts": 2 }'}
          value={draft.options}
          onChange={(event) => change({ options: event.target.value })}
        />
      </div>
    </details>
  );
}

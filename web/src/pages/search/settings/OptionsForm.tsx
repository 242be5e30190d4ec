/** How a search ranks; each choice takes effect at once, and what is left out is the knowledge base's. */
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { SelectField, TextField } from "@/components/forms/Field";
import { NUMBER_LIMITS, type NumberOption, type RetrievalOptions, withOption } from "../searchParams";
import styles from "./OptionsForm.module.css";

interface Props {
  options: RetrievalOptions;
  /** What the last search used, shown where nothing is chosen. */
  effective?: Schemas["RetrievalRequest"] | undefined;
  onChange: (options: RetrievalOptions) => void;
  /** Names that are left out here. */
  without?: readonly (keyof RetrievalOptions)[];
}

export function OptionsForm({ options, effective, onChange, without = [] }: Props) {
  const { t } = useTranslation("search");
  const has = (name: keyof RetrievalOptions) => !without.includes(name);
  const number = (name: NumberOption, step = 1) =>
    has(name) && <NumberOptionField key={name} name={name} step={step} {...{ options, effective, onChange }} />;
  const flag = (name: "rerank" | "deduplicate") => (
    <SelectField
      label={t(`option.${name}`)}
      hint={t(`option.${name}_hint`)}
      value={options[name] === undefined ? "" : String(options[name])}
      options={[
        { value: "", label: defaultLabel(t, effective && t(effective[name] ? "option.yes" : "option.no")) },
        { value: "true", label: t("option.yes") },
        { value: "false", label: t("option.no") },
      ]}
      onChange={({ target }) => onChange(withOption(options, name, target.value ? target.value === "true" : undefined))}
    />
  );
  const choice = <K extends "reranker" | "expand">(name: K, values: readonly string[]) => (
    <SelectField
      label={t(`option.${name}`)}
      hint={t(`option.${name}_hint`)}
      value={options[name] ?? ""}
      options={[
        { value: "", label: defaultLabel(t, effective && t(`option.value.${effective[name]}` as "option.value.none")) },
        ...values.map((value) => ({ value, label: t(`option.value.${value}` as "option.value.none") })),
      ]}
      onChange={({ target }) => onChange(withOption(options, name, (target.value || undefined) as RetrievalOptions[K]))}
    />
  );
  return (
    <div className={styles.grid}>
      {number("top_k")}
      {number("dense_weight", 0.1)}
      {number("score_threshold", 0.05)}
      {flag("rerank")}
      {choice("reranker", ["lexical", "api"])}
      {flag("deduplicate")}
      {number("neighbours")}
      {has("expand") && choice("expand", ["none", "section"])}
      {(options.expand ?? effective?.expand) === "section" && number("expand_tokens", 50)}
    </div>
  );
}

function defaultLabel(
  t: (key: "option.default_is" | "option.default", values: { value: string }) => string,
  value?: string,
) {
  return t(value === undefined ? "option.default" : "option.default_is", { value: value ?? "" });
}

function NumberOptionField({ name, step, options, effective, onChange }: Props & { name: NumberOption; step: number }) {
  const { t } = useTranslation("search");
  const [least, most] = NUMBER_LIMITS[name];
  const chosen = options[name];
  const [draft, setDraft] = useState(chosen?.toString() ?? "");
  useEffect(() => setDraft(chosen?.toString() ?? ""), [chosen]);
  const value = draft.trim() ? Number(draft) : undefined;
  const wrong = value !== undefined && !(value >= least && value <= most);
  function keep() {
    if (!wrong && value !== (chosen ?? undefined)) onChange(withOption(options, name, value));
  }
  return (
    <TextField
      type="number"
      inputMode="decimal"
      min={least}
      max={most}
      step={step}
      label={t(`option.${name}`)}
      hint={t(`option.${name}_hint`)}
      error={wrong ? t("option.out_of_range", { least, most }) : undefined}
      placeholder={effective?.[name]?.toString() ?? t("option.automatic")}
      value={draft}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={keep}
      onKeyDown={(event) => event.key === "Enter" && keep()}
    />
  );
}

/** A field for the parser of a knowledge base or of a document; nothing where there is no choice. */
import { useTranslation } from "react-i18next";
import { SelectField } from "@/components/forms/Field";
import { BUILT_IN, choiceOf, keyOf, type ParserChoice } from "./choiceKeys";
import { useParserChoices } from "./parserChoices";

const INHERITED = "";

/** Names of choices in the reader's language. */
export function useParserName(): (choice: ParserChoice) => string {
  const { t } = useTranslation("knowledge");
  return ({ parser, strategy }) =>
    parser === BUILT_IN
      ? t("parser.built_in")
      : t("parser.with_strategy", {
          parser,
          strategy: t(`parser.strategy.${strategy as "auto"}`, { defaultValue: strategy }),
        });
}

/** The choices as options of a select. */
export function useParserOptions(): { value: string; label: string; disabled: boolean }[] {
  const { t, i18n } = useTranslation("knowledge");
  const nameOf = useParserName();
  const list = new Intl.ListFormat(i18n.language, { type: "conjunction" });
  return useParserChoices().map(({ missing, ...choice }) => ({
    value: keyOf(choice),
    label: missing.length ? t("parser.lacks", { name: nameOf(choice), parts: list.format(missing) }) : nameOf(choice),
    disabled: missing.length > 0,
  }));
}

export function ParserField({
  value,
  onChange,
  hint,
  mayInherit,
  disabled,
}: {
  /** Null is the knowledge base's. */
  value: ParserChoice | null;
  onChange: (choice: ParserChoice | null) => void;
  hint: string;
  mayInherit?: boolean;
  disabled?: boolean;
}) {
  const { t } = useTranslation("knowledge");
  const nameOf = useParserName();
  const choices = useParserOptions();
  const present = value && keyOf(value);
  if (choices.length < 2 && (value === null || value.parser === BUILT_IN)) return null;
  // One that was switched off since can be seen, and not chosen again.
  const isKnown = present === null || choices.some((choice) => choice.value === present);
  return (
    <SelectField
      label={t("parser.label")}
      hint={hint}
      value={present ?? INHERITED}
      disabled={disabled}
      options={[
        ...(mayInherit ? [{ value: INHERITED, label: t("parser.inherited") }] : []),
        ...(isKnown || !value ? [] : [{ value: keyOf(value), label: nameOf(value), disabled: true }]),
        ...choices,
      ]}
      onChange={(event) => onChange(event.target.value === INHERITED ? null : choiceOf(event.target.value))}
    />
  );
}

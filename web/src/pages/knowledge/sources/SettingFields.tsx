/** The settings of a source, as its kind has them. */
import { useTranslation } from "react-i18next";
import { SelectField, SwitchField, TextAreaField, TextField } from "@/components/forms/Field";
import form from "../Form.module.css";
import { CONNECTOR_FORMS, type ConnectorName, type Field, type Values } from "./connectorForms";
import { chosen } from "./sourceDraft";

export interface SettingProps {
  connector: ConnectorName;
  values: Values;
  onChange: (part: Values) => void;
}

/** Those of one part; the first setting of a kind is the place, and the others say what is read. */
export function SettingFields({ connector, values, onChange, part }: SettingProps & { part: Field["part"] }) {
  const fields = CONNECTOR_FORMS[connector].fields.filter(
    (field, index) => (field.part ?? (index === 0 ? "place" : undefined)) === part && (field.isShown?.(values) ?? true),
  );
  const shown = (field: Field) => (
    <SettingField key={field.name} connector={connector} field={field} values={values} onChange={onChange} />
  );
  const numbers = fields.filter(({ kind }) => kind === "number");
  // What is needed stands first, in its own order.
  const patterns = fields.filter(({ kind, required }) => kind === "patterns" && !required);
  return (
    <>
      {fields
        .filter((field) => field.kind !== "number" && field.kind !== "switch" && !patterns.includes(field))
        .map(shown)}
      {numbers.length > 0 && <div className={form.pair}>{numbers.map(shown)}</div>}
      {fields.filter(({ kind }) => kind === "switch").map(shown)}
      {patterns.length > 0 && <div className={form.pair}>{patterns.map(shown)}</div>}
    </>
  );
}

function SettingField({ connector, field, values, onChange }: SettingProps & { field: Field }) {
  const { t, i18n } = useTranslation("knowledge");
  const { name, kind } = field;
  const path = `settings.${name}`;
  const label = t(`source.setting.${name}`);
  const hints = [`source.setting_hint.${connector}_${name}`, `source.setting_hint.${name}`] as const;
  const key = hints.find((each) => i18n.exists(`knowledge:${each}`));
  const hint = key && t(key as "source.setting_hint.include");
  const value = String(values[name] ?? "");
  const onText = ({ target }: { target: { value: string } }) => onChange({ [name]: target.value });
  if (kind === "switch") {
    return (
      <SwitchField
        label={label}
        hint={hint}
        checked={values[name] === true}
        onChange={(checked) => onChange({ [name]: checked })}
      />
    );
  }
  const { required, min, max } = field;
  if (kind === "patterns" || kind === "lines" || kind === "json") {
    const rows = kind === "lines" ? 4 : 2;
    return (
      <TextAreaField
        label={label}
        hint={hint}
        rows={rows}
        required={required}
        name={path}
        value={value}
        onChange={onText}
      />
    );
  }
  if (kind === "choice") {
    const onChoice = ({ target }: { target: { value: string } }) => onChange(chosen(field, target.value, values));
    return <ChoiceField field={field} value={value} onText={onChoice} />;
  }
  return (
    <TextField
      label={label}
      hint={hint}
      type={kind}
      name={path}
      required={required}
      min={min}
      max={max}
      value={value}
      onChange={onText}
    />
  );
}

interface ChoiceProps {
  field: Field;
  value: string;
  onText: (event: { target: { value: string } }) => void;
}

function ChoiceField({ field: { name, choices = [] }, value, onText }: ChoiceProps) {
  const { t, i18n } = useTranslation("knowledge");
  const wordOf = (choice: string) => t(`source.choice.${name}_${choice}` as "source.choice.mode_site");
  const hint = `source.choice_hint.${name}_${value}` as "source.choice_hint.mode_site";
  return (
    <SelectField
      label={t(`source.setting.${name}`)}
      hint={i18n.exists(`knowledge:${hint}`) && t(hint)}
      name={`settings.${name}`}
      value={value}
      options={choices.map((choice) => ({ value: choice, label: wordOf(choice) }))}
      onChange={onText}
    />
  );
}

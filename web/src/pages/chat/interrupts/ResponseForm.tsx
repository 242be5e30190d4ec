/** An answer to the agent's question, as its schema asks for it. */
import type { Interrupt } from "@ag-ui/core";
import { type FormEvent, type ReactNode, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { CheckboxField, SelectField, TextAreaField, TextField } from "@/components/forms/Field";
import { plainText } from "@/components/plainText";
import styles from "./InterruptCards.module.css";
import { chosenOf, type FormField, type FormValues, fieldsOf, initialValues, payloadOf } from "./responseForm";

export interface ResponseFormProps {
  interrupt: Interrupt;
  onResolve: (payload: unknown) => void;
  onCancel: () => void;
}

export function ResponseForm({ interrupt, onResolve, onCancel }: ResponseFormProps) {
  const { t } = useTranslation("chat");
  const fields = useMemo(() => fieldsOf(interrupt.responseSchema), [interrupt.responseSchema]);
  const [only] = fields;
  if (fields.length === 1 && only?.type === "boolean") {
    return (
      <div className={styles.row}>
        <Button variant="primary" onClick={() => onResolve({ [only.name]: true })}>
          {t("interrupt.yes")}
        </Button>
        <Button onClick={() => onResolve({ [only.name]: false })}>{t("interrupt.no")}</Button>
      </div>
    );
  }
  const others = <Button onClick={onCancel}>{t("interrupt.give_up")}</Button>;
  return <FieldsForm schema={interrupt.responseSchema} others={others} onSubmit={onResolve} />;
}

export interface FieldsFormProps {
  schema: unknown;
  /** What else may be done than send the form. */
  others: ReactNode;
  onSubmit: (payload: Record<string, unknown>) => void;
}

/** The fields of an object's schema, with a button that sends what is in them. */
export function FieldsForm({ schema, others, onSubmit }: FieldsFormProps) {
  const { t } = useTranslation("chat");
  const fields = useMemo(() => fieldsOf(schema), [schema]);
  const [values, setValues] = useState<FormValues>(() => initialValues(fields));
  const [faults, setFaults] = useState<readonly string[]>([]);
  function submit(event: FormEvent) {
    event.preventDefault();
    const result = payloadOf(fields, values);
    if ("faults" in result) setFaults(result.faults);
    else onSubmit(result.payload);
  }
  return (
    <form onSubmit={submit} className={styles.form}>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values[field.name]}
          fault={faults.includes(field.name)}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      <div className={styles.row}>
        <Button variant="primary" type="submit">
          {t("interrupt.send")}
        </Button>
        {others}
      </div>
    </form>
  );
}

interface FieldProps {
  field: FormField;
  value: string | boolean | undefined;
  fault: boolean;
  onChange: (value: string | boolean) => void;
}

function Field({ field, value, fault, onChange }: FieldProps) {
  const { t } = useTranslation("chat");
  const { type, choices, labels } = field;
  const hint = plainText(field.hint);
  // A field that only holds the answer needs no technical name.
  const label = field.label === "input" ? t("interrupt.answer") : plainText(field.label);
  const error = fault ? t("interrupt.fault") : undefined;
  const text = typeof value === "string" ? value : "";
  if (type === "boolean") return <CheckboxField label={label} checked={value === true} onChange={onChange} />;
  if (type === "choice") {
    const options = [
      { value: "", label: "" },
      ...choices.map((choice, index) => ({ value: choice, label: plainText(labels[index] ?? choice) })),
    ];
    return (
      <SelectField
        label={label}
        hint={hint}
        error={error}
        options={options}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  if (type === "several") {
    const chosen = chosenOf(value);
    return (
      <fieldset className={styles.form}>
        <legend>{label}</legend>
        {hint && <p className={styles.quiet}>{hint}</p>}
        {choices.map((choice, index) => (
          <CheckboxField
            key={choice}
            label={plainText(labels[index] ?? choice)}
            checked={chosen.includes(choice)}
            onChange={(checked) =>
              onChange(JSON.stringify(choices.filter((one) => (one === choice ? checked : chosen.includes(one)))))
            }
          />
        ))}
        {error && <p role="alert">{error}</p>}
      </fieldset>
    );
  }
  if (type === "text" || type === "json") {
    return (
      <TextAreaField
        label={label}
        hint={hint}
        error={error}
        rows={2}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  return (
    <TextField
      label={label}
      hint={hint}
      error={error}
      type="number"
      step={type === "integer" ? 1 : "any"}
      value={text}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** An answer to the agent's question, as its schema asks for it. */
import type { Interrupt } from "@ag-ui/core";
import { type FormEvent, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { CheckboxField, SelectField, TextAreaField, TextField } from "@/components/Field";
import styles from "./InterruptCards.module.css";
import { type FormField, type FormValues, fieldsOf, payloadOf } from "./responseForm";

export interface ResponseFormProps {
  interrupt: Interrupt;
  onResolve: (payload: unknown) => void;
  onCancel: () => void;
}

export function ResponseForm({ interrupt, onResolve, onCancel }: ResponseFormProps) {
  const { t } = useTranslation("chat");
  const fields = useMemo(() => fieldsOf(interrupt.responseSchema), [interrupt.responseSchema]);
  const [values, setValues] = useState<FormValues>({});
  const [faults, setFaults] = useState<readonly string[]>([]);
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
  function submit(event: FormEvent) {
    event.preventDefault();
    const result = payloadOf(fields, values);
    if ("faults" in result) setFaults(result.faults);
    else onResolve(result.payload);
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
        <Button onClick={onCancel}>{t("interrupt.give_up")}</Button>
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
  const { type, hint, choices } = field;
  // A field that only holds the answer needs no technical name.
  const label = field.label === "input" ? t("interrupt.answer") : field.label;
  const error = fault ? t("interrupt.fault") : undefined;
  const text = typeof value === "string" ? value : "";
  if (type === "boolean") return <CheckboxField label={label} checked={value === true} onChange={onChange} />;
  if (type === "choice") {
    const options = [{ value: "", label: "" }, ...choices.map((choice) => ({ value: choice, label: choice }))];
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

/** The declared inputs of a skill. */
import { Plus, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { CheckboxField, SelectField } from "@/components/forms/Field";
import { CommitField } from "./CommitField";
import { FoldedItem } from "./FoldedItem";
import styles from "./form.module.css";
import { useLocal } from "./useLocal";
import { readNames, readValue, showNames, showValue } from "./values";

export type ParamForm = Schemas["ParamForm"];
type Param = Schemas["Param"];

const TYPES = ["string", "integer", "number", "boolean", "array", "object", "enum", "date", "datetime", "file"];

interface Props {
  params: readonly Param[];
  onCommit: (params: ParamForm[]) => void;
  disabled: boolean;
}

export function ParamList({ params, onCommit, disabled }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const [items, setItems] = useLocal<readonly ParamForm[]>(params.map(asForm));
  function commit(next: ParamForm[]) {
    setItems(next);
    onCommit(next);
  }
  const add = () => commit([...items, { name: freeName(items), type: "string", required: true, description: "" }]);
  return (
    <fieldset className={styles.list} disabled={disabled}>
      <legend className={styles.legend}>{t("form.inputs")}</legend>
      {items.map((param, index) => (
        <FoldedItem
          // biome-ignore lint/suspicious/noArrayIndexKey: a name is what may change
          key={index}
          summary={
            <>
              <code>{param.name}</code>
              <span className={styles.note}>
                {param.type} · {t(param.required ? "form.required" : "form.optional")}
              </span>
            </>
          }
        >
          <ParamFields
            param={param}
            onChange={(changes) => commit(items.map((one, place) => (place === index ? { ...one, ...changes } : one)))}
          />
          {!disabled && (
            <Button
              size="s"
              variant="ghost"
              icon={Trash2}
              onClick={() => commit(items.filter((_, place) => place !== index))}
            >
              {t("form.remove_input", { name: param.name })}
            </Button>
          )}
        </FoldedItem>
      ))}
      {!disabled && (
        <Button size="s" variant="ghost" icon={Plus} className={styles.add} onClick={add}>
          {t("form.add_input")}
        </Button>
      )}
    </fieldset>
  );
}

function ParamFields({ param, onChange }: { param: ParamForm; onChange: (changes: Partial<ParamForm>) => void }) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <div className={styles.fields}>
      <div className={styles.pair}>
        <CommitField label={t("form.param.name")} value={param.name} onCommit={(name) => name && onChange({ name })} />
        <SelectField
          label={t("form.param.type")}
          value={param.type}
          options={TYPES.map((type) => ({ value: type, label: type }))}
          onChange={(event) => onChange({ type: event.target.value })}
        />
      </div>
      <CommitField
        label={t("form.param.description")}
        value={param.description}
        multiline
        onCommit={(description) => onChange({ description })}
      />
      <div className={styles.pair}>
        <CommitField
          label={t("form.param.default")}
          value={showValue(param.default)}
          onCommit={(typed) => onChange({ default: readValue(typed, param.type) })}
        />
        <CommitField
          label={t("form.param.enum")}
          hint={t("form.commas")}
          value={showNames((param.enum ?? []).map(showValue))}
          onCommit={(typed) => onChange({ enum: readNames(typed).map((one) => readValue(one, param.type)) })}
        />
      </div>
      <CheckboxField
        label={t("form.param.required")}
        checked={param.required ?? param.default === null}
        onChange={(required) => onChange({ required })}
      />
    </div>
  );
}

/** What a form keeps of an input: all but its line. */
function asForm({ line: _, ...param }: Param): ParamForm {
  return param as ParamForm;
}

function freeName(params: readonly ParamForm[]): string {
  const taken = new Set(params.map((param) => param.name));
  for (let number = params.length + 1; ; number++) if (!taken.has(`input_${number}`)) return `input_${number}`;
}

/** The fields of a condition: what is compared, how, and with what. */
import { useTranslation } from "react-i18next";
import { SelectField, TextField } from "@/components/forms/Field";
import type { Condition } from "../definition";
import { useTypedText } from "../useTypedText";
import styles from "./conditions.module.css";
import { readOperand, readOperands, writeOperand, writeOperands } from "./operands";

const OPERATORS = [
  "==",
  "!=",
  "<",
  "<=",
  ">",
  ">=",
  "in",
  "not_in",
  "contains",
  "starts_with",
  "ends_with",
  "matches",
  "exists",
  "changed",
] as const satisfies readonly Condition["operator"][];

const isOfMany = ({ operator }: Condition) => operator === "in" || operator === "not_in";
const isYesOrNo = ({ operator }: Condition) => operator === "exists" || operator === "changed";

interface Props {
  condition: Condition;
  /** Id of the list of paths. */
  paths: string;
  onChange: (condition: Condition) => void;
}

export function ConditionFields({ condition, paths, onChange }: Props) {
  const { t } = useTranslation("rules");
  return (
    <div className={styles.fields}>
      <TextField
        hidesLabel
        label={t("if.field")}
        placeholder={t("if.field")}
        list={paths}
        value={condition.field}
        maxLength={500}
        spellCheck={false}
        onChange={({ target }) => onChange({ ...condition, field: target.value })}
        required
      />
      <SelectField
        hidesLabel
        label={t("if.operator")}
        value={condition.operator}
        options={OPERATORS.map((value) => ({ value, label: t(`operator.${value}`) }))}
        onChange={({ target }) => onChange(withOperator(condition, target.value as Condition["operator"]))}
      />
      {isYesOrNo(condition) ? (
        <SelectField
          hidesLabel
          label={t("if.value")}
          value={condition.value === false ? "no" : "yes"}
          options={(["yes", "no"] as const).map((value) => ({ value, label: t(`if.${value}`) }))}
          onChange={({ target }) => onChange({ ...condition, value: target.value === "yes" })}
        />
      ) : (
        // Another kind of value begins anew.
        <OperandField key={String(isOfMany(condition))} condition={condition} onChange={onChange} />
      )}
    </div>
  );
}

function OperandField({ condition, onChange }: Omit<Props, "paths">) {
  const { t } = useTranslation("rules");
  const isMany = isOfMany(condition);
  const [read, write] = isMany ? [readOperands, writeOperands] : [readOperand, writeOperand];
  const [text, setText] = useTypedText(condition.value, read, write);
  const label = t(isMany ? "if.values" : "if.value");
  return (
    <TextField
      hidesLabel
      label={label}
      placeholder={label}
      value={text}
      maxLength={isMany ? 10_000 : 1_000}
      spellCheck={false}
      onChange={({ target }) => {
        setText(target.value);
        onChange({ ...condition, value: read(target.value) });
      }}
    />
  );
}

/** The condition with another operator, and a value that it may have. */
function withOperator(condition: Condition, operator: Condition["operator"]): Condition {
  const next = { ...condition, operator };
  if (isYesOrNo(next)) return { ...next, value: true as never };
  const text = isYesOrNo(condition)
    ? ""
    : isOfMany(condition)
      ? writeOperands(condition.value)
      : writeOperand(condition.value);
  return { ...next, value: isOfMany(next) ? readOperands(text) : readOperand(text) };
}

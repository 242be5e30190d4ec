/** Inputs for a field of a tool's arguments; groups, lists and alternatives hold further ones. */
import { Plus, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { SelectField, SwitchField, TextAreaField, TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { plainText } from "@/components/plainText";
import type { ListSchemaField, SchemaField } from "./fields";
import own from "./SchemaInput.module.css";
import { type ArgumentDraft, groupDraft, initialDraft, LEFT_OUT, partOf } from "./values";

interface Props<Field extends SchemaField = SchemaField> {
  field: Field;
  draft: ArgumentDraft | undefined;
  /** Where the field stands, such as `/items/0`. */
  path: string;
  /** The paths of fields whose text can't be read. */
  unreadable: readonly string[];
  onChange: (draft: ArgumentDraft) => void;
}

export function SchemaInput(props: Props) {
  const { field } = props;
  switch (field.kind) {
    case "fixed":
      return null;
    case "group":
      return <GroupInput {...props} field={field} />;
    case "list":
      return <ListInput {...props} field={field} />;
    case "variant":
      return <VariantInput {...props} field={field} />;
    default:
      return <LeafInput {...props} field={field} />;
  }
}

type Group = Extract<SchemaField, { kind: "group" }>;

/** The fields of a group, without a frame. */
export function GroupEntries({ field, draft, path, unreadable, onChange }: Props<Group>) {
  return field.entries.map(([name, part]) => (
    <SchemaInput
      key={name}
      field={part}
      draft={partOf(draft, name)}
      path={`${path}/${name}`}
      unreadable={unreadable}
      onChange={(next) => onChange({ ...groupDraft(draft), [name]: next })}
    />
  ));
}

function GroupInput(props: Props<Group>) {
  const { t } = useTranslation("connections");
  const { field, onChange } = props;
  const draft = props.draft ?? initialDraft(field);
  const isGiven = draft !== LEFT_OUT;
  const isOptional = !field.isRequired || field.isNullable;
  return (
    <fieldset className={own.frame}>
      <legend>{field.label}</legend>
      {field.description && <p className={styles.hint}>{field.description}</p>}
      {isOptional && (
        <SwitchField
          label={t("mcp.give", { name: field.label })}
          checked={isGiven}
          onChange={(isOn) => onChange(isOn ? {} : LEFT_OUT)}
        />
      )}
      {isGiven && <GroupEntries {...props} draft={draft} />}
    </fieldset>
  );
}

function ListInput({ field, draft: given, path, unreadable, onChange }: Props<ListSchemaField>) {
  const { t } = useTranslation("connections");
  const draft = given ?? initialDraft(field);
  const items = Array.isArray(draft) ? draft : [];
  const change = (index: number, next: ArgumentDraft) =>
    onChange(items.map((each, place) => (place === index ? next : each)));
  return (
    <fieldset className={own.frame}>
      <legend>{field.isRequired ? t("mcp.required", { name: field.label }) : field.label}</legend>
      {field.description && <p className={styles.hint}>{field.description}</p>}
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the entries have no other identity
        <div key={index} className={own.item}>
          <SchemaInput
            field={{ ...field.item, label: t("mcp.entry", { number: index + 1 }) }}
            draft={item}
            path={`${path}/${index}`}
            unreadable={unreadable}
            onChange={(next) => change(index, next)}
          />
          <IconButton
            icon={Trash2}
            label={t("mcp.remove_entry", { number: index + 1, name: field.label })}
            onClick={() => onChange(items.filter((_, place) => place !== index))}
          />
        </div>
      ))}
      <div>
        <Button
          size="s"
          icon={Plus}
          disabled={items.length >= field.maxItems}
          aria-label={t("mcp.add_entry_to", { name: field.label })}
          onClick={() => onChange([...items, initialDraft(field.item)])}
        >
          {t("mcp.add_entry")}
        </Button>
      </div>
    </fieldset>
  );
}

function VariantInput(props: Props<Extract<SchemaField, { kind: "variant" }>>) {
  const { t } = useTranslation("connections");
  const { field, path, unreadable, onChange } = props;
  const draft = props.draft ?? initialDraft(field);
  const choice = String(partOf(draft, "choice") ?? "");
  const option = field.options[Number(choice)];
  const isOptional = !field.isRequired || field.isNullable;
  const options = field.options.map((each, index) => ({
    value: String(index),
    label: each.label || t(`mcp.kind.${each.kind}`),
  }));
  return (
    <fieldset className={own.frame}>
      <legend>{field.label}</legend>
      <SelectField
        label={t("mcp.alternative")}
        hint={field.description}
        value={choice}
        options={isOptional ? [{ value: "", label: t("mcp.unset") }, ...options] : options}
        onChange={(event) =>
          onChange(event.target.value ? { ...groupDraft(draft), choice: event.target.value } : LEFT_OUT)
        }
      />
      {choice !== "" && option && (
        <SchemaInput
          field={option.label ? option : { ...option, label: t("mcp.value") }}
          draft={partOf(draft, choice)}
          path={`${path}/${choice}`}
          unreadable={unreadable}
          onChange={(next) => onChange({ ...groupDraft(draft), [choice]: next })}
        />
      )}
    </fieldset>
  );
}

const INPUT_TYPES = { text: "text", date: "date", "date-time": "datetime-local", email: "email", uri: "url" } as const;

function LeafInput({ field, draft: given, path, unreadable, onChange }: Props) {
  const { t } = useTranslation("connections");
  const draft = given ?? initialDraft(field);
  const text = typeof draft === "string" ? draft : "";
  const isNeeded = field.isRequired && !field.isNullable;
  const common = {
    label: isNeeded ? t("mcp.required", { name: field.label }) : field.label,
    hint: useHint(field),
    error: unreadable.includes(path) ? t("mcp.unreadable") : undefined,
    value: text,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  if (field.kind === "boolean" || field.kind === "choice") {
    const values =
      field.kind === "choice"
        ? field.choices.map((each, index) => ({ value: String(index), label: wordOf(each) }))
        : (["true", "false"] as const).map((value) => ({ value, label: t(`mcp.${value}`) }));
    return <SelectField {...common} required={isNeeded} options={[{ value: "", label: t("mcp.unset") }, ...values]} />;
  }
  if (field.kind === "json")
    return (
      <TextAreaField
        {...common}
        required={isNeeded}
        className={styles.mono}
        placeholder={t("mcp.json")}
        spellCheck={false}
      />
    );
  if (field.kind === "number")
    return (
      <TextField
        {...common}
        type="number"
        step={field.isInteger ? 1 : "any"}
        min={field.minimum}
        max={field.maximum}
        required={isNeeded}
      />
    );
  if (field.kind !== "text") return null;
  return (
    <TextField
      {...common}
      type={INPUT_TYPES[field.format]}
      minLength={field.minLength}
      maxLength={field.maxLength}
      required={isNeeded && (field.format !== "text" || (field.minLength ?? 0) > 0)}
    />
  );
}

const wordOf = (value: unknown) => plainText(typeof value === "string" ? value : JSON.stringify(value));

/** What the server says of a field, with its bounds in words. */
function useHint(field: SchemaField): string | undefined {
  const { t } = useTranslation("connections");
  const bounds =
    field.kind !== "number" || (field.minimum === undefined && field.maximum === undefined)
      ? ""
      : field.maximum === undefined
        ? t("mcp.at_least", { least: field.minimum })
        : field.minimum === undefined
          ? t("mcp.at_most", { most: field.maximum })
          : t("mcp.between", { least: field.minimum, most: field.maximum });
  return [field.description, bounds].filter(Boolean).join(" · ") || undefined;
}

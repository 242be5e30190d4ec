/** Keys and values of metadata in a form. */
import { Plus, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { SelectField, TextField } from "@/components/forms/Field";
import styles from "./DocumentDetails.module.css";
import { KINDS, type Kind, type MetadataRow, type RowError } from "./metadata";

const MOST_KEYS = 20;
const KIND_NAMES = {
  text: "metadata.kind.text",
  number: "metadata.kind.number",
  boolean: "metadata.kind.boolean",
  list: "metadata.kind.list",
} as const;
const ERRORS = {
  no_key: "metadata.error.no_key",
  twice: "metadata.error.twice",
  no_number: "metadata.error.no_number",
} as const;

interface Props {
  rows: readonly MetadataRow[];
  wrong: { row: number; error: RowError } | null;
  onChange: (rows: MetadataRow[]) => void;
}

export function MetadataRows({ rows, wrong, onChange }: Props) {
  const { t } = useTranslation("documents");
  const next = Math.max(-1, ...rows.map((row) => row.id)) + 1;
  const set = (id: number, change: Partial<MetadataRow>) =>
    onChange(rows.map((row) => (row.id === id ? { ...row, ...change } : row)));
  return (
    <fieldset className={styles.rows}>
      <legend>{t("metadata.title")}</legend>
      {rows.map((row) => (
        <div key={row.id} className={styles.row}>
          <TextField
            label={t("metadata.key")}
            value={row.key}
            maxLength={64}
            onChange={(event) => set(row.id, { key: event.target.value })}
          />
          <SelectField
            label={t("metadata.kind.label")}
            value={row.kind}
            options={KINDS.map((kind) => ({ value: kind, label: t(KIND_NAMES[kind]) }))}
            onChange={(event) => {
              const kind = event.target.value as Kind;
              set(row.id, { kind, ...(kind === "boolean" && { value: "true" }) });
            }}
          />
          <ValueField row={row} onChange={(value) => set(row.id, { value })} />
          <IconButton
            icon={Trash2}
            label={t("metadata.remove", { key: row.key })}
            onClick={() => onChange(rows.filter((other) => other.id !== row.id))}
          />
          {wrong?.row === row.id && (
            <p role="alert" className={styles.error}>
              {t(ERRORS[wrong.error])}
            </p>
          )}
        </div>
      ))}
      <div>
        <Button
          size="s"
          icon={Plus}
          disabled={rows.length >= MOST_KEYS}
          onClick={() => onChange([...rows, { id: next, key: "", kind: "text", value: "" }])}
        >
          {t("metadata.add")}
        </Button>
      </div>
    </fieldset>
  );
}

function ValueField({ row, onChange }: { row: MetadataRow; onChange: (value: string) => void }) {
  const { t } = useTranslation("documents");
  if (row.kind === "boolean")
    return (
      <SelectField
        label={t("metadata.value")}
        value={row.value === "true" ? "true" : "false"}
        options={[
          { value: "true", label: t("metadata.yes") },
          { value: "false", label: t("metadata.no") },
        ]}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  return (
    <TextField
      label={t(row.kind === "list" ? "metadata.values" : "metadata.value")}
      value={row.value}
      inputMode={row.kind === "number" ? "decimal" : "text"}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

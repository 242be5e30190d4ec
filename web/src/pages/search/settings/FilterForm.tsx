/** Which documents count: by name, type, time and metadata. */
import { Plus, X } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { SelectField, TextField } from "@/components/forms/Field";
import { Disclosure } from "@/components/overlays/Disclosure";
import { countFilters, type Filters, readFilters } from "../searchParams";
import { type Condition, OPERATORS, type Operator, toConditions, toMetadata } from "./conditions";
import styles from "./FilterForm.module.css";

type Numbered = Condition & { id: number };
const PERIODS = ["created", "updated"] as const;
const ENDS = ["since", "before"] as const;

let lastId = 0;
function number(condition: Condition): Numbered {
  lastId += 1;
  return { ...condition, id: lastId };
}
const blank = (): Numbered => number({ key: "", operator: "=", value: "" });

export function FilterForm({
  filters,
  onChange,
}: {
  filters: Filters | undefined;
  onChange: (filters: Filters | undefined) => void;
}) {
  const { t } = useTranslation("search");
  const [draft, setDraft] = useState<Filters>(filters ?? {});
  const [types, setTypes] = useState(filters?.file_types?.join(", ") ?? "");
  const [rows, setRows] = useState(() => toConditions(filters?.metadata).map(number));
  useEffect(() => {
    setDraft(filters ?? {});
    setTypes(filters?.file_types?.join(", ") ?? "");
    setRows(toConditions(filters?.metadata).map(number));
  }, [filters]);

  function apply(event: FormEvent) {
    event.preventDefault();
    const file_types = types.split(/[\s,，、]+/).filter(Boolean);
    onChange(readFilters({ ...draft, file_types, metadata: toMetadata(rows) }));
  }
  return (
    <Disclosure title={t("filter.title")} count={countFilters(filters)}>
      <form className={styles.form} onSubmit={apply}>
        <div className={styles.grid}>
          <TextField
            label={t("filter.name")}
            hint={t("filter.name_hint")}
            value={draft.name ?? ""}
            onChange={(event) => setDraft({ ...draft, name: event.target.value })}
          />
          <TextField
            label={t("filter.types")}
            hint={t("filter.types_hint")}
            value={types}
            onChange={(event) => setTypes(event.target.value)}
          />
          {PERIODS.flatMap((period) =>
            ENDS.map((end) => (
              <TextField
                key={`${period} ${end}`}
                type="date"
                label={t(`filter.${period}_${end}`)}
                value={draft[period]?.[end]?.slice(0, 10) ?? ""}
                onChange={(event) => setDraft({ ...draft, [period]: { ...draft[period], [end]: event.target.value } })}
              />
            )),
          )}
        </div>
        <ConditionRows rows={rows} onChange={setRows} />
        {draft.document_ids && (
          <p className={styles.hint}>{t("filter.documents", { count: draft.document_ids.length })}</p>
        )}
        <div className={styles.actions}>
          <Button type="submit" size="s" variant="primary">
            {t("filter.apply")}
          </Button>
          {countFilters(filters) > 0 && (
            <Button size="s" variant="ghost" onClick={() => onChange(undefined)}>
              {t("filter.clear")}
            </Button>
          )}
        </div>
      </form>
    </Disclosure>
  );
}

function ConditionRows({ rows, onChange }: { rows: readonly Numbered[]; onChange: (rows: Numbered[]) => void }) {
  const { t } = useTranslation("search");
  function change(id: number, part: Partial<Condition>) {
    onChange(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  }
  return (
    <fieldset className={styles.conditions}>
      <legend>{t("filter.metadata")}</legend>
      {rows.map((row) => (
        <div key={row.id} className={styles.condition}>
          <TextField
            label={t("filter.key")}
            value={row.key}
            maxLength={100}
            onChange={(event) => change(row.id, { key: event.target.value })}
          />
          <SelectField
            label={t("filter.operator")}
            options={OPERATORS.map((operator) => ({ value: operator, label: operator }))}
            value={row.operator}
            onChange={(event) => change(row.id, { operator: event.target.value as Operator })}
          />
          <TextField
            label={t("filter.value")}
            value={row.value}
            maxLength={1000}
            onChange={(event) => change(row.id, { value: event.target.value })}
          />
          <IconButton
            icon={X}
            label={t("filter.remove")}
            onClick={() => onChange(rows.filter(({ id }) => id !== row.id))}
          />
        </div>
      ))}
      <p className={styles.hint}>{t("filter.metadata_hint")}</p>
      <Button size="s" icon={Plus} onClick={() => onChange([...rows, blank()])}>
        {t("filter.add")}
      </Button>
    </fieldset>
  );
}

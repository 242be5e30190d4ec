/** The steps of a skill, in their order. */
import { ArrowDown, ArrowUp, Plus, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Button, IconButton } from "@/components/Button";
import { CommitField } from "./CommitField";
import { FoldedItem } from "./FoldedItem";
import styles from "./form.module.css";
import { useLocal } from "./useLocal";
import { readNames, showNames } from "./values";

export type StepForm = Schemas["StepForm"];
type SkillStep = Schemas["Step"];

interface Props {
  steps: readonly SkillStep[];
  onCommit: (steps: StepForm[]) => void;
  disabled: boolean;
}

export function StepList({ steps, onCommit, disabled }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const [items, setItems] = useLocal<readonly StepForm[]>(steps.map(asForm));
  function commit(next: StepForm[]) {
    setItems(next);
    onCommit(next);
  }
  function move(index: number, by: number) {
    const next = [...items];
    const [step] = next.splice(index, 1);
    if (step) next.splice(index + by, 0, step);
    commit(next);
  }
  const change = (index: number, changes: Partial<StepForm>) =>
    commit(items.map((step, place) => (place === index ? { ...step, ...changes } : step)));
  const remove = (index: number) => commit(items.filter((_, place) => place !== index));
  const add = () =>
    commit([...items, { title: t("form.new_step"), instruction: t("form.new_step_text"), tools: [], condition: null }]);
  return (
    <fieldset className={styles.list} disabled={disabled}>
      <legend className={styles.legend}>{t("form.steps")}</legend>
      {items.map((step, index) => (
        <FoldedItem
          // biome-ignore lint/suspicious/noArrayIndexKey: titles may be the same; the place is what a step has
          key={index}
          summary={t("form.step", { number: index + 1, title: step.title || firstLine(step.instruction) })}
        >
          <StepFields step={step} onChange={(changes) => change(index, changes)} />
          {!disabled && (
            <div className={styles.row}>
              <IconButton
                icon={ArrowUp}
                size="s"
                label={t("form.up")}
                disabled={!index}
                onClick={() => move(index, -1)}
              />
              <IconButton
                icon={ArrowDown}
                size="s"
                label={t("form.down")}
                disabled={index === items.length - 1}
                onClick={() => move(index, 1)}
              />
              <Button size="s" variant="ghost" icon={Trash2} onClick={() => remove(index)}>
                {t("form.remove_step")}
              </Button>
            </div>
          )}
        </FoldedItem>
      ))}
      {!disabled && (
        <Button size="s" variant="ghost" icon={Plus} className={styles.add} onClick={add}>
          {t("form.add_step")}
        </Button>
      )}
    </fieldset>
  );
}

function StepFields({ step, onChange }: { step: StepForm; onChange: (changes: Partial<StepForm>) => void }) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <div className={styles.fields}>
      <CommitField
        label={t("form.step_title")}
        value={step.title ?? ""}
        onCommit={(title) => onChange({ title: title || null })}
      />
      <CommitField
        label={t("form.instruction")}
        value={step.instruction}
        multiline
        onCommit={(instruction) => onChange({ instruction })}
      />
      <div className={styles.pair}>
        <CommitField
          label={t("form.step_tools")}
          hint={t("form.commas")}
          value={showNames(step.tools ?? [])}
          onCommit={(typed) => onChange({ tools: readNames(typed) })}
        />
        <CommitField
          label={t("form.condition")}
          value={step.condition ?? ""}
          onCommit={(condition) => onChange({ condition: condition || null })}
        />
      </div>
    </div>
  );
}

function asForm({ title, instruction, tools, condition }: SkillStep): StepForm {
  return { title: title ?? null, instruction, tools: [...(tools ?? [])], condition: condition ?? null };
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.slice(0, 80) ?? "";
}

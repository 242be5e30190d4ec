/** Examples of what belongs into a part of the form, for who writes a skill for the first time. */
import { useTranslation } from "react-i18next";
import { Disclosure } from "@/components/overlays/Disclosure";
import styles from "./form.module.css";

/** The parts that have examples, and how many. */
const EXAMPLES = {
  description: 2,
  trigger_conditions: 3,
  input_params: 2,
  steps: 3,
  outputs: 2,
  constraints: 2,
} as const;

/** A declared input, as the text of a step names it. */
const DAY = "{{date}}";

export type FieldWithExamples = keyof typeof EXAMPLES;

export function hasExamples(field: string): field is FieldWithExamples {
  return field in EXAMPLES;
}

export function FieldExamples({ field }: { field: FieldWithExamples }) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <Disclosure plain title={<span className={styles.note}>{t("form.examples.title")}</span>}>
      <ul className={styles.examples}>
        {Array.from({ length: EXAMPLES[field] }, (_, index) => index + 1).map((number) => (
          <li key={number}>{t(`form.examples.${field}.${number as 1 | 2}`, { day: DAY })}</li>
        ))}
      </ul>
    </Disclosure>
  );
}

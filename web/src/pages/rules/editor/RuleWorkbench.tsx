/** A rule to be edited, as a form or as JSON, beside what it would do at an event. */
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { Notice } from "@/components/feedback/Notice";
import { TextAreaField } from "@/components/forms/Field";
import formStyles from "@/components/forms/Form.module.css";
import type { EditorSearch } from "../searchParams";
import type { Definition } from "./definition";
import { DryRunPanel } from "./dryRun/DryRunPanel";
import { RuleForm } from "./RuleForm";
import styles from "./RuleWorkbench.module.css";
import { type ParsedRule, parseRule, ruleText } from "./structure";

interface Props {
  /** The rule as JSON: the truth that the form shows. */
  text: string;
  onChange: (text: string) => void;
  search: EditorSearch;
  onSearch: (part: Partial<EditorSearch>) => void;
  /** The stored rule, whose state and cooldowns count when it is tried. */
  ruleId?: string;
  /** Whether the stored rule is the caller's: nobody else's is tried with changes. */
  isOwn?: boolean;
  isReadOnly?: boolean;
  /** What stands at the end of the form, given the rule unless it can't be read. */
  children: (definition: Definition | undefined) => ReactNode;
  onSave: (definition: Definition) => void;
}

export function RuleWorkbench(props: Props) {
  const { text, onChange, search, onSearch, ruleId, isOwn = true, isReadOnly, children, onSave } = props;
  const { t } = useTranslation("rules");
  const parsed = parseRule(text);
  const definition = definitionIn(parsed);
  const isJson = search.view === "json";
  return (
    <div className={styles.workbench}>
      <form
        className={formStyles.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (definition) onSave(definition);
        }}
      >
        <fieldset className={styles.views}>
          <legend className="visually-hidden">{t("form.view")}</legend>
          {(["form", "json"] as const).map((view) => (
            <Button
              key={view}
              size="s"
              variant={(view === "json") === isJson ? "secondary" : "ghost"}
              aria-pressed={(view === "json") === isJson}
              onClick={() => onSearch({ view: view === "json" ? "json" : undefined })}
            >
              {t(`form.as_${view}`)}
            </Button>
          ))}
        </fieldset>
        <fieldset className={styles.fields} disabled={isReadOnly && !isJson}>
          {isJson || !("definition" in parsed) ? (
            <JsonView text={text} parsed={parsed} isForm={!isJson} isReadOnly={isReadOnly} onChange={onChange} />
          ) : (
            <RuleForm definition={parsed.definition} onChange={(next) => onChange(ruleText(next))} />
          )}
        </fieldset>
        {children(definition)}
      </form>
      <DryRunPanel definition={definition} ruleId={ruleId} isOwn={isOwn} logId={search.log} />
    </div>
  );
}

/** What is sent: where only the server can say what is wrong, it is asked. */
function definitionIn(parsed: ParsedRule): Definition | undefined {
  if ("definition" in parsed) return parsed.definition;
  return "shapeless" in parsed ? (parsed.shapeless as Definition) : undefined;
}

interface JsonProps {
  text: string;
  parsed: ParsedRule;
  /** Whether it stands in for the form, which can't show this. */
  isForm: boolean;
  isReadOnly: boolean | undefined;
  onChange: (text: string) => void;
}

function JsonView({ text, parsed, isForm, isReadOnly, onChange }: JsonProps) {
  const { t } = useTranslation("rules");
  return (
    <>
      {isForm && <Notice tone="warning">{t("form.json_only")}</Notice>}
      <TextAreaField
        label={t("form.json")}
        error={"invalid" in parsed ? t("form.json_invalid", { reason: parsed.invalid }) : undefined}
        className={formStyles.mono}
        rows={28}
        spellCheck={false}
        readOnly={isReadOnly}
        value={text}
        onChange={({ target }) => onChange(target.value)}
      />
    </>
  );
}

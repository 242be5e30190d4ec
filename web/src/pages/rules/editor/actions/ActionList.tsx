/** The actions of a rule, in their order. */
import { ChevronDown, ChevronUp, Plus, Trash2 } from "lucide-react";
import { type ComponentType, useId } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { SelectField } from "@/components/forms/Field";
import formStyles from "@/components/forms/Form.module.css";
import { ACTION_TYPES, type Action, type ActionType, NEW_ACTIONS } from "../definition";
import styles from "./ActionList.module.css";
import { ErrorFields } from "./ErrorFields";
import type { ActionFieldsProps } from "./fields";
import { ACTION_FIELDS } from "./registry";

/** A rule has no more. */
const MOST_ACTIONS = 10;

interface Props {
  actions: readonly Action[];
  sourceId: string | undefined;
  template: string;
  onChange: (actions: Action[]) => void;
}

export function ActionList({ actions, sourceId, template, onChange }: Props) {
  const { t } = useTranslation("rules");
  const move = (from: number, to: number) =>
    onChange(actions.toSpliced(from, 1).toSpliced(to, 0, actions[from] as Action));
  return (
    <div className={formStyles.form}>
      {actions.map((action, index) => (
        <ActionItem
          // biome-ignore lint/suspicious/noArrayIndexKey: actions have no other identity
          key={`${index} ${action.type}`}
          action={action}
          number={index + 1}
          sourceId={sourceId}
          template={template}
          onChange={(next) => onChange(actions.with(index, next))}
          onMoveUp={index > 0 ? () => move(index, index - 1) : undefined}
          onMoveDown={index < actions.length - 1 ? () => move(index, index + 1) : undefined}
          onRemove={actions.length > 1 ? () => onChange(actions.toSpliced(index, 1)) : undefined}
        />
      ))}
      {actions.length < MOST_ACTIONS && (
        <div>
          <Button size="s" icon={Plus} onClick={() => onChange([...actions, NEW_ACTIONS.notify])}>
            {t("then.add")}
          </Button>
        </div>
      )}
    </div>
  );
}

interface ItemProps {
  action: Action;
  number: number;
  sourceId: string | undefined;
  template: string;
  onChange: (action: Action) => void;
  onMoveUp: (() => void) | undefined;
  onMoveDown: (() => void) | undefined;
  onRemove: (() => void) | undefined;
}

function ActionItem({ action, number, sourceId, template, onChange, onMoveUp, onMoveDown, onRemove }: ItemProps) {
  const { t } = useTranslation("rules");
  const title = useId();
  const Fields = ACTION_FIELDS[action.type] as ComponentType<ActionFieldsProps<ActionType>>;
  return (
    <section className={styles.action} aria-labelledby={title}>
      <header className={styles.head}>
        <h3 id={title}>{t("then.title", { number, type: t(`then.kind.${action.type}`) })}</h3>
        <div className={styles.buttons}>
          {onMoveUp && <IconButton size="s" icon={ChevronUp} label={t("then.up", { number })} onClick={onMoveUp} />}
          {onMoveDown && (
            <IconButton size="s" icon={ChevronDown} label={t("then.down", { number })} onClick={onMoveDown} />
          )}
          {onRemove && <IconButton size="s" icon={Trash2} label={t("then.remove", { number })} onClick={onRemove} />}
        </div>
      </header>
      <SelectField
        label={t("then.type")}
        value={action.type}
        options={ACTION_TYPES.map((value) => ({ value, label: t(`then.kind.${value}`) }))}
        onChange={({ target }) => onChange(NEW_ACTIONS[target.value as ActionType])}
      />
      <Fields action={action} sourceId={sourceId} template={template} onChange={onChange} />
      <ErrorFields action={action} onChange={onChange} />
    </section>
  );
}

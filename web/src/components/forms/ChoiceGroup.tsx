/** Any number of things to be chosen from a list. */
import styles from "./ChoiceGroup.module.css";
import { CheckboxField } from "./Field";

export interface ChoiceGroupProps {
  title: string;
  /** What it means that none is chosen. */
  none: string;
  options: readonly { id: string; name: string }[];
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}

export function ChoiceGroup({ title, none, options, chosen, onChange }: ChoiceGroupProps) {
  if (options.length === 0) return null;
  return (
    <fieldset className={styles.group}>
      <legend>{title}</legend>
      <p className={styles.hint}>{none}</p>
      <div className={styles.options}>
        {options.map(({ id, name }) => (
          <CheckboxField
            key={id}
            label={name}
            checked={chosen.includes(id)}
            onChange={(checked) => onChange(checked ? [...chosen, id] : chosen.filter((other) => other !== id))}
          />
        ))}
      </div>
    </fieldset>
  );
}

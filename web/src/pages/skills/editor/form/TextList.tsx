/** A list of short texts, each in its own input. */
import { Plus, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { CommitField } from "./CommitField";
import styles from "./form.module.css";
import { useLocal } from "./useLocal";

interface Props {
  label: string;
  values: readonly string[];
  onCommit: (values: string[]) => void;
  disabled: boolean;
}

export function TextList({ label, values, onCommit, disabled }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const [items, setItems] = useLocal(values);
  const [adding, setAdding] = useState(false);
  function commit(next: string[]) {
    setItems(next);
    onCommit(next);
  }
  function replace(index: number, text: string) {
    setAdding(false);
    const next = [...items];
    next.splice(index, 1, ...(text ? [text] : []));
    commit(next);
  }
  const shown = adding ? [...items, ""] : items;
  return (
    <fieldset className={styles.list} disabled={disabled}>
      <legend className={styles.legend}>{label}</legend>
      {shown.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: texts may be the same; the place is what they have
        <div className={styles.item} key={index}>
          <CommitField
            label={<span className="visually-hidden">{t("form.item", { label, number: index + 1 })}</span>}
            value={item}
            multiline
            autoFocus={index === items.length}
            onCommit={(text) => replace(index, text)}
          />
          {!disabled && (
            <IconButton
              icon={X}
              size="s"
              label={t("form.remove_item", { label, number: index + 1 })}
              onClick={() => (index < items.length ? replace(index, "") : setAdding(false))}
            />
          )}
        </div>
      ))}
      {/* Also while a text is added: what is below must stay where somebody presses. */}
      {!disabled && (
        <Button size="s" variant="ghost" icon={Plus} className={styles.add} onClick={() => setAdding(true)}>
          {t("form.add_to", { label })}
        </Button>
      )}
    </fieldset>
  );
}

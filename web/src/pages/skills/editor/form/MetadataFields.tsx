/** What the file says of itself: where it stands in the library, and whether its steps are strict. */
import { useTranslation } from "react-i18next";
import { SwitchField } from "@/components/forms/Field";
import { CommitField } from "./CommitField";
import styles from "./form.module.css";
import { readNames } from "./values";

interface Props {
  metadata: Record<string, string>;
  onCommit: (metadata: Record<string, string>) => void;
  disabled: boolean;
}

export function MetadataFields({ metadata, onCommit, disabled }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const change = (key: string, value: string) => {
    const { [key]: _, ...others } = metadata;
    onCommit(value ? { ...metadata, [key]: value } : others);
  };
  return (
    <>
      <div className={styles.pair}>
        <CommitField
          label={t("form.category")}
          value={metadata.category ?? ""}
          disabled={disabled}
          onCommit={(value) => change("category", value)}
        />
        <CommitField
          label={t("form.tags")}
          hint={t("form.commas")}
          value={metadata.tags ?? ""}
          disabled={disabled}
          onCommit={(value) => change("tags", readNames(value).join(", "))}
        />
      </div>
      <SwitchField
        label={t("form.strict")}
        hint={t("form.strict_hint")}
        checked={metadata.strict === "true"}
        disabled={disabled}
        onChange={(strict) => change("strict", strict ? "true" : "")}
      />
    </>
  );
}

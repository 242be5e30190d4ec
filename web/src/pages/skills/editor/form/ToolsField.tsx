/** Which tools a skill leaves to an agent. */
import { useTranslation } from "react-i18next";
import { SelectField } from "@/components/forms/Field";
import { TextList } from "./TextList";

interface Props {
  /** Null where the skill restricts none. */
  tools: readonly string[] | null;
  onCommit: (tools: string[] | null) => void;
  disabled: boolean;
}

export function ToolsField({ tools, onCommit, disabled }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <>
      <SelectField
        label={t("form.tools")}
        hint={t("form.tools_hint")}
        value={tools === null ? "any" : "only"}
        disabled={disabled}
        options={[
          { value: "any", label: t("form.tools_any") },
          { value: "only", label: t("form.tools_only") },
        ]}
        onChange={(event) => onCommit(event.target.value === "any" ? null : [])}
      />
      {tools !== null && (
        <TextList label={t("form.allowed_tools")} values={tools} disabled={disabled} onCommit={onCommit} />
      )}
    </>
  );
}

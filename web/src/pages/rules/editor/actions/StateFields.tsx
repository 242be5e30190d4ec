/** Values that the rule keeps for the next event. */
import { useTranslation } from "react-i18next";
import { JsonField } from "../JsonField";
import type { ActionFieldsProps } from "./fields";

export function StateFields({ action, onChange }: ActionFieldsProps<"set_state">) {
  const { t } = useTranslation("rules");
  return (
    <JsonField
      label={t("then.state")}
      hint={t("then.state_hint")}
      value={action.params}
      object
      onChange={(params) => onChange({ ...action, params })}
    />
  );
}

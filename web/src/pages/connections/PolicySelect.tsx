/** The choice whether a tool may act by itself; what the administrator forbids is not offered. */
import { useTranslation } from "react-i18next";
import { SelectField } from "@/components/forms/Field";
import { plainText } from "@/components/plainText";
import { POLICIES, type ToolPolicy, useChoosePolicy } from "./toolPolicies";

export function PolicySelect({ policy }: { policy: ToolPolicy }) {
  const { t } = useTranslation("connections");
  const choose = useChoosePolicy();
  const freest = policy.bound ? POLICIES.indexOf(policy.bound) : 0;
  const isFixed = policy.bound === "never";
  return (
    <SelectField
      label={t("policy.of", { tool: plainText(policy.tool) })}
      hidesLabel
      hint={policy.bound && policy.bound !== "auto" ? t(isFixed ? "policy.forbidden" : "policy.bounded") : undefined}
      disabled={choose.isPending || isFixed}
      value={isFixed ? "never" : (policy.own ?? "")}
      options={[
        { value: "", label: t("policy.default", { policy: t(`policy.${policy.default}`) }) },
        ...POLICIES.slice(freest).map((value) => ({ value, label: t(`policy.${value}`) })),
      ]}
      onChange={(event) => choose.mutate({ tool: policy.tool, own: (event.target.value || null) as ToolPolicy["own"] })}
    />
  );
}

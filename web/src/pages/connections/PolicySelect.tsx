/** The choice whether a tool may act by itself; what the administrator forbids is not offered. */
import { useTranslation } from "react-i18next";
import { SelectField } from "@/components/Field";
import { POLICIES, type Policy, useChoosePolicy } from "./toolPolicies";

export function PolicySelect({ policy }: { policy: Policy }) {
  const { t } = useTranslation("connections");
  const choose = useChoosePolicy();
  const freest = policy.bound ? POLICIES.indexOf(policy.bound) : 0;
  const isFixed = policy.bound === "never";
  return (
    <SelectField
      label={<span className="visually-hidden">{t("policy.of", { tool: policy.tool })}</span>}
      hint={policy.bound && policy.bound !== "auto" ? t(isFixed ? "policy.forbidden" : "policy.bounded") : undefined}
      disabled={choose.isPending || isFixed}
      value={isFixed ? "never" : (policy.own ?? "")}
      options={[
        { value: "", label: t("policy.default", { policy: t(`policy.${policy.default}`) }) },
        ...POLICIES.slice(freest).map((value) => ({ value, label: t(`policy.${value}`) })),
      ]}
      onChange={(event) => choose.mutate({ tool: policy.tool, own: (event.target.value || null) as Policy["own"] })}
    />
  );
}

/** The switch of a rule; what it says follows at once, and goes back where the server refuses. */
import { Switch } from "@base-ui/react/switch";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { useErrorToast } from "@/components/feedback/toasts";
import fieldStyles from "@/components/forms/Field.module.css";
import { type RuleItem, ruleQuery, useInvalidateRules } from "../ruleQueries";

export function RuleSwitch({ rule: { id, name, enabled } }: { rule: Pick<RuleItem, "id" | "name" | "enabled"> }) {
  const { t } = useTranslation("rules");
  const queries = useQueryClient();
  const invalidate = useInvalidateRules();
  const fail = useErrorToast();
  const change = useMutation({
    mutationFn: (isOn: boolean) =>
      call(api.PUT("/api/v1/rules/{rule_id}/enabled", { params: { path: { rule_id: id } }, body: { enabled: isOn } })),
    onSuccess: async (rule) => {
      queries.setQueryData(ruleQuery(id).queryKey, rule);
      await invalidate();
    },
    onError: fail,
  });
  const isOn = change.isPending ? change.variables : enabled;
  return (
    <Switch.Root
      checked={isOn}
      onCheckedChange={(next) => change.mutate(next)}
      aria-label={t("state.switch", { name })}
      className={fieldStyles.switch}
    >
      <Switch.Thumb className={fieldStyles.thumb} />
    </Switch.Root>
  );
}

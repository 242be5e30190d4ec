/** What else can be done with a rule. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Copy, Download, MoreHorizontal, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, callEmpty, save } from "@/api/client";
import { IconButton } from "@/components/Button";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { Menu } from "@/components/overlays/Menu";
import { definitionOf } from "../editor/definition";
import { createRule, type RuleItem, ruleQuery, useInvalidateRules } from "../ruleQueries";

/** As long as a name may be, with room for what a copy's adds. */
const LONGEST_NAME = 90;

export function RuleMenu({ rule: { id, name, access } }: { rule: Pick<RuleItem, "id" | "name" | "access"> }) {
  const { t } = useTranslation(["rules", "common"]);
  const mayWrite = useMay()("rule:write");
  const navigate = useNavigate();
  const queries = useQueryClient();
  const invalidate = useInvalidateRules();
  const fail = useErrorToast();
  const [asks, setAsks] = useState(false);
  const params = { path: { rule_id: id } };
  async function copy() {
    const rule = await queries.fetchQuery(ruleQuery(id));
    const body = { ...definitionOf(rule), name: t("action.copy_name", { name: name.slice(0, LONGEST_NAME) }) };
    // It would act twice at once: who made the copy switches it on.
    const made = await createRule({ ...body, enabled: false });
    await invalidate();
    notify(t("action.copied"));
    await navigate({ to: "/rules/$ruleId", params: { ruleId: made.id } });
  }
  async function remove() {
    await callEmpty(api.DELETE("/api/v1/rules/{rule_id}", { params }));
    notify(t("action.deleted", { name }));
    await navigate({ to: "/rules" });
    queries.removeQueries({ queryKey: ruleQuery(id).queryKey });
    await invalidate();
  }
  return (
    <>
      <Menu
        trigger={<IconButton size="s" icon={MoreHorizontal} label={t("action.more", { name })} />}
        entries={[
          ...(mayWrite ? [{ label: t("action.copy"), icon: Copy, onSelect: () => void copy().catch(fail) }] : []),
          {
            label: t("action.export"),
            icon: Download,
            onSelect: () => void save(`/api/v1/rules/${id}/export`).catch(fail),
          },
          ...(mayWrite && access === "owner"
            ? [{ label: t("common:action.delete"), icon: Trash2, danger: true, onSelect: () => setAsks(true) }]
            : []),
        ]}
      />
      <ConfirmDialog
        open={asks}
        onClose={() => setAsks(false)}
        title={t("action.delete_title", { name })}
        description={t("action.delete_text")}
        action={t("common:action.delete")}
        onConfirm={remove}
      />
    </>
  );
}

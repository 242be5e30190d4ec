/** What can be done with a skill wherever its pages are open: export it, copy it, delete it. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Copy, Download, Ellipsis, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call, callEmpty, save } from "@/api/client";
import { Button, IconButton } from "@/components/Button";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { Menu, type MenuEntry } from "@/components/overlays/Menu";
import { writeDraft } from "./editor/drafts";
import { EXPORT_FORMS, exportAddress } from "./exports";
import type { SkillDetail } from "./skillQueries";

export function SkillActions({ skill }: { skill: SkillDetail }) {
  const { t } = useTranslation(["skills", "common"]);
  const may = useMay();
  const showError = useErrorToast();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [deleting, setDeleting] = useState(false);

  async function fork() {
    try {
      const copy = await call(
        api.POST("/api/v1/skills/{skill_id}/fork", { params: { path: { skill_id: skill.id } }, body: {} }),
      );
      await queries.invalidateQueries({ queryKey: ["skills"] });
      notify(t("fork.done", { name: copy.name }));
      await navigate({ to: "/skills/$skillId", params: { skillId: copy.id } });
    } catch (error) {
      showError(error);
    }
  }
  async function remove() {
    await callEmpty(api.DELETE("/api/v1/skills/{skill_id}", { params: { path: { skill_id: skill.id } } }));
    writeDraft(skill.id, null);
    notify(t("delete.done", { name: skill.name }));
    await navigate({ to: "/skills", ignoreBlocker: true });
    queries.removeQueries({ queryKey: ["skill", skill.id] });
    await queries.invalidateQueries({ queryKey: ["skills"] });
  }
  const more: MenuEntry[] = may("skill:write")
    ? [
        { label: t("fork.action"), icon: Copy, onSelect: () => void fork() },
        ...(skill.access === "owner"
          ? [{ label: t("common:action.delete"), icon: Trash2, danger: true, onSelect: () => setDeleting(true) }]
          : []),
      ]
    : [];
  return (
    <>
      <Menu
        trigger={<Button icon={Download}>{t("export.action")}</Button>}
        entries={EXPORT_FORMS.map((form) => ({
          label: t(`export.${form}`),
          onSelect: () => void save(exportAddress(skill.id, form)).catch(showError),
        }))}
      />
      {more.length > 0 && (
        <Menu trigger={<IconButton icon={Ellipsis} label={t("common:action.more")} />} entries={more} />
      )}
      <ConfirmDialog
        open={deleting}
        onClose={() => setDeleting(false)}
        title={t("delete.title", { name: skill.name })}
        description={t("delete.what")}
        action={t("common:action.delete")}
        onConfirm={remove}
      />
    </>
  );
}

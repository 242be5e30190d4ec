/** What can be done with several skills at once. */
import { Download } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { save } from "@/api/client";
import { Button } from "@/components/Button";
import { useErrorToast } from "@/components/feedback/toasts";
import { Menu } from "@/components/overlays/Menu";
import { PROFILES, type Profile } from "../exports";
import styles from "./SkillList.module.css";

export function SkillSelectionBar({ ids, onClear }: { ids: string[]; onClear: () => void }) {
  const { t } = useTranslation(["skills", "common"]);
  const showError = useErrorToast();
  const [busy, setBusy] = useState(false);
  async function exportAll(profile: Profile) {
    setBusy(true);
    try {
      await save("/api/v1/skills/export", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ids, profile }),
      });
    } catch (error) {
      showError(error);
    } finally {
      setBusy(false);
    }
  }
  return (
    <div className={styles.selection}>
      <span role="status">{t("library.selected", { count: ids.length })}</span>
      <Menu
        trigger={
          <Button size="s" icon={Download} busy={busy}>
            {t("export.action")}
          </Button>
        }
        entries={PROFILES.map((profile) => ({
          label: t(`export.${profile}`),
          onSelect: () => void exportAll(profile),
        }))}
      />
      <Button size="s" variant="ghost" onClick={onClear}>
        {t("library.unselect")}
      </Button>
    </div>
  );
}

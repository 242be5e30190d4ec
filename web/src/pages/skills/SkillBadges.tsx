/** The state of a skill in short words. */
import { useTranslation } from "react-i18next";
import { Badge } from "@/components/feedback/Badge";
import styles from "./library/SkillList.module.css";
import type { Skill } from "./skillQueries";

export function SkillBadges({ skill }: { skill: Skill }) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <div className={styles.badges}>
      <Badge>{t("state.version", { number: skill.version })}</Badge>
      {!skill.valid && <Badge tone="danger">{t("state.invalid")}</Badge>}
      {!skill.trusted && <Badge tone="warning">{t("state.unread")}</Badge>}
      {!skill.enabled && <Badge tone="neutral">{t("state.disabled")}</Badge>}
      {skill.is_public && <Badge tone="accent">{t("state.public")}</Badge>}
      {skill.access !== "owner" && (
        <span className={styles.note}>
          {t(skill.owner.username ? "state.owner" : "state.no_owner", { name: skill.owner.username })}
        </span>
      )}
    </div>
  );
}

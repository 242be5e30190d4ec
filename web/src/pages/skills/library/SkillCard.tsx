/** A skill in the library. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { formatRelative } from "@/i18n/format";
import { SkillBadges } from "../SkillBadges";
import type { Skill } from "../skillQueries";
import styles from "./SkillList.module.css";

const route = getRouteApi("/shell/skills");

export function SkillCard({ skill, selected, onToggle }: { skill: Skill; selected: boolean; onToggle: () => void }) {
  const { t } = useTranslation(["skills", "common"]);
  const { page: _, ...search } = route.useSearch();
  return (
    <li className={styles.card} data-selected={selected || undefined}>
      <div className={styles.cardHead}>
        <h2>
          <Link to="/skills/$skillId" params={{ skillId: skill.id }} className={styles.cardLink}>
            {skill.name}
          </Link>
        </h2>
        <input
          type="checkbox"
          className={styles.check}
          checked={selected}
          onChange={onToggle}
          aria-label={t("library.select", { name: skill.name })}
        />
      </div>
      <SkillBadges skill={skill} />
      <p className={styles.description}>{skill.description || t("library.no_description")}</p>
      <p className={styles.cardFoot}>
        <code>{t("library.slash", { slug: skill.slug })}</code>
        {skill.category && (
          <Link to="/skills" search={{ ...search, category: skill.category }}>
            {skill.category}
          </Link>
        )}
        {skill.tags.map((tag) => (
          <Link key={tag} to="/skills" search={{ ...search, tag }}>
            {t("library.tag", { tag })}
          </Link>
        ))}
        <span>{formatRelative(skill.updated_at)}</span>
      </p>
    </li>
  );
}

/** How a skill reads: its text as people see it, and what agents take from it. */
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Badge } from "@/components/feedback/Badge";
import { formatNumber } from "@/i18n/format";
import { SkillMarkdown } from "./SkillMarkdown";
import styles from "./SkillPreview.module.css";

export function SkillPreview({ report }: { report: Schemas["ReportAnswer"] }) {
  const { t } = useTranslation(["skills", "common"]);
  const { parsed } = report;
  if (!parsed) return <p className={styles.none}>{t("preview.unreadable")}</p>;
  return (
    <div className={styles.preview}>
      <div className={styles.facts}>
        <Badge>{t(`format.${parsed.format}`)}</Badge>
        <Badge>
          {t("preview.tokens", { count: parsed.token_estimate, shown: formatNumber(parsed.token_estimate) })}
        </Badge>
        {report.portable.valid && <Badge tone="success">{t("state.portable")}</Badge>}
        {report.valid && !report.publishable && <Badge tone="warning">{t("state.not_publishable")}</Badge>}
      </div>
      <SkillMarkdown text={parsed.body} />
    </div>
  );
}

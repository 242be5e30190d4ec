/** What became, or would become, of each skill of some files. */
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Badge, type Tone } from "@/components/feedback/Badge";
import { messageOf } from "../editor/source/diagnostics";
import styles from "./SkillImportDialog.module.css";

type Item = Schemas["ImportItem"];

export interface ImportAnswer {
  dry_run: boolean;
  items: Item[];
  /** Members of archives that belong to no skill. */
  ignored: string[];
}

const TONES: Record<Item["outcome"], Tone> = {
  created: "success",
  new_version: "info",
  unchanged: "neutral",
  skipped: "neutral",
  refused: "danger",
};

export function ImportReport({ report, onClose }: { report: ImportAnswer; onClose: () => void }) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <div className={styles.items} role="status">
      <ul className={styles.items}>
        {report.items.map((item) => (
          <ReportItem key={`${item.file}/${item.folder}`} item={item} onClose={onClose} />
        ))}
      </ul>
      {report.ignored.length > 0 && (
        <p className={styles.place}>{t("import.ignored", { names: report.ignored.join(", ") })}</p>
      )}
    </div>
  );
}

function ReportItem({ item, onClose }: { item: Item; onClose: () => void }) {
  const { t } = useTranslation(["skills", "common"]);
  const name = item.skill?.name || item.folder || item.file;
  return (
    <li className={styles.item}>
      <div className={styles.head}>
        <Badge tone={TONES[item.outcome]}>{t(`import.outcome.${item.outcome}`)}</Badge>
        {item.skill?.id ? (
          <Link to="/skills/$skillId" params={{ skillId: item.skill.id }} onClick={onClose}>
            {name}
          </Link>
        ) : (
          <strong>{name}</strong>
        )}
        {item.skill && <Badge>{t("state.version", { number: item.skill.version })}</Badge>}
        {item.outcome !== "refused" && !item.valid && <Badge tone="danger">{t("state.invalid")}</Badge>}
        {item.portable && <Badge tone="success">{t("state.portable")}</Badge>}
      </div>
      <p className={styles.place}>
        {item.folder ? t("import.place", { file: item.file, folder: item.folder }) : item.file}
      </p>
      {item.error && <p className={styles.found}>{item.error.message}</p>}
      {item.problems.map((problem) => (
        <p key={`${problem.code}${problem.path}`} className={styles.found}>
          {messageOf(problem)}
        </p>
      ))}
      {item.diagnostics.length > 0 && (
        <details className={styles.found}>
          <summary>{t("import.found", { count: item.diagnostics.length })}</summary>
          <ul>
            {item.diagnostics.map((one) => (
              <li key={`${one.code}:${one.line}:${one.column}:${one.message}`}>
                {t("import.diagnostic", { line: one.line, message: messageOf(one) })}
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

/** Knowledge bases whose documents are being processed. */
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { ProgressBar } from "@/components/feedback/Badge";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import { formatDuration } from "@/i18n/format";
import styles from "./HomePage.module.css";
import { useBusyKnowledgeBases } from "./knowledgeBases";
import { openCount } from "./progress";

export function ProcessingList() {
  const { t } = useTranslation("home");
  const busy = useBusyKnowledgeBases();
  return (
    <Section title={t("processing.title")}>
      <Card>
        {!busy && <Skeleton lines={2} />}
        {busy?.length === 0 && <p className={styles.nothing}>{t("processing.none")}</p>}
        <div className={styles.list}>
          {busy?.map(({ id, name, progress }) => (
            <Link key={id} to="/knowledge-bases/$kbId" params={{ kbId: id }} className={styles.row}>
              <span className={styles.line}>
                <span className={styles.name}>{name}</span>
                <span className={styles.detail}>
                  {t("processing.open", { count: openCount(progress) })}
                  {progress.eta_seconds !== null &&
                    ` · ${t("processing.left", { time: formatDuration(progress.eta_seconds) })}`}
                </span>
              </span>
              <ProgressBar
                value={progress.percent ? progress.percent / 100 : null}
                label={t("processing.bar", { name })}
              />
            </Link>
          ))}
        </div>
      </Card>
    </Section>
  );
}

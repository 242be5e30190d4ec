/** Knowledge bases whose documents are being processed. */
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { ProgressBar } from "@/components/Badge";
import { Card, Section, Skeleton } from "@/components/Page";
import { formatDuration } from "@/i18n/format";
import styles from "./HomePage.module.css";
import { openCount, useKnowledgeBaseStates } from "./knowledgeBases";

export function ProcessingList() {
  const { t } = useTranslation("home");
  const states = useKnowledgeBaseStates();
  const busy = states?.filter(({ progress }) => openCount(progress) > 0);
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
              <ProgressBar value={progress.percent / 100} label={t("processing.bar", { name })} />
            </Link>
          ))}
        </div>
      </Card>
    </Section>
  );
}

/** What waits for the person: approvals and answers, failed documents, skills to review. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call } from "@/api/client";
import { Card, Section } from "@/components/layout/Page";
import styles from "./HomePage.module.css";
import { useFailedKnowledgeBases } from "./knowledgeBases";
import { useWaitingSessions, WaitingSessions } from "./WaitingSessions";

export function AttentionList() {
  const { t } = useTranslation("home");
  const may = useMay();
  const failed = useFailedKnowledgeBases(may("kb:view"));
  const sessions = useWaitingSessions(may("session:view"));
  const reviews = useQuery({
    queryKey: ["skills", "pending"],
    queryFn: () => call(api.GET("/api/v1/skills", { params: { query: { page: 1, page_size: 5, pending: true } } })),
    enabled: may("skill:view"),
  });
  const skills = reviews.data?.items ?? [];
  // Nothing to do is no news.
  if (!sessions.length && !failed.length && !skills.length) return null;
  return (
    <Section title={t("attention.title")}>
      <Card>
        <div className={styles.list}>
          <WaitingSessions sessions={sessions} />
          {failed.map(({ id, name, progress }) => (
            <Link
              key={id}
              to="/knowledge-bases/$kbId"
              params={{ kbId: id }}
              search={{ status: "failed" }}
              className={`${styles.row} ${styles.line}`}
            >
              <span className={styles.name}>{name}</span>
              <span className={styles.detail}>{t("attention.failed", { count: progress.counts.failed })}</span>
            </Link>
          ))}
          {skills.map(({ id, name }) => (
            <Link key={id} to="/skills/$skillId" params={{ skillId: id }} className={`${styles.row} ${styles.line}`}>
              <span className={styles.name}>{name}</span>
              <span className={styles.detail}>{t("attention.review")}</span>
            </Link>
          ))}
        </div>
      </Card>
    </Section>
  );
}

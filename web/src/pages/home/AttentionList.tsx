/** What waits for a person: failed documents, notices of knowledge bases, skills to review. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call } from "@/api/client";
import { Card, Section } from "@/components/Page";
import styles from "./HomePage.module.css";
import { useKnowledgeBaseStates } from "./knowledgeBases";

export function AttentionList() {
  const { t } = useTranslation("home");
  const may = useMay();
  const states = useKnowledgeBaseStates();
  const reviews = useQuery({
    queryKey: ["skills", "pending"],
    queryFn: () => call(api.GET("/api/v1/skills", { params: { query: { page: 1, page_size: 5, pending: true } } })),
    enabled: may("skill:view"),
  });
  const failed = states?.filter(({ progress }) => progress.counts.failed) ?? [];
  const skills = reviews.data?.items ?? [];
  // Nothing to do is no news.
  if (!failed.length && !skills.length) return null;
  return (
    <Section title={t("attention.title")}>
      <Card>
        <div className={styles.list}>
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

/** The latest conversations. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import { formatRelative } from "@/i18n/format";
import styles from "./HomePage.module.css";

const SHOWN = 6;

export function RecentConversations() {
  const { t } = useTranslation("home");
  const sessions = useQuery({
    queryKey: ["sessions", "latest"],
    queryFn: () => call(api.GET("/api/v1/sessions", { params: { query: { page: 1, page_size: SHOWN } } })),
  });
  return (
    <Section title={t("conversations.title")}>
      <Card>
        {sessions.isPending && <Skeleton lines={4} />}
        {sessions.isError && <ErrorNotice error={sessions.error} onRetry={() => void sessions.refetch()} />}
        {sessions.data?.items.length === 0 && <p className={styles.nothing}>{t("conversations.none")}</p>}
        <div className={styles.list}>
          {sessions.data?.items.map(({ id, thread_id, title, updated_at }) => (
            <Link
              key={id}
              to="/chat/$threadId"
              params={{ threadId: thread_id }}
              className={`${styles.row} ${styles.line}`}
            >
              <span className={styles.name}>{title || t("conversations.untitled")}</span>
              <time className={styles.detail} dateTime={updated_at}>
                {formatRelative(updated_at)}
              </time>
            </Link>
          ))}
        </div>
      </Card>
    </Section>
  );
}

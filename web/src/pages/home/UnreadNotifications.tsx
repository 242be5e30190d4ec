/** What rules said last, and nobody has read. */
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { LinkButton } from "@/components/Button";
import { Card, Section } from "@/components/layout/Page";
import { formatRelative } from "@/i18n/format";
import { LevelBadge } from "@/pages/rules/notifications/LevelBadge";
import { useUnread } from "@/pages/rules/notifications/notificationQueries";
import styles from "./HomePage.module.css";

export function UnreadNotifications() {
  const { t } = useTranslation("rules");
  const { newest, count } = useUnread();
  if (newest.length === 0) return null;
  return (
    <Section
      title={t("notification.unread", { count })}
      actions={
        <LinkButton size="s" variant="ghost" to="/rules/notifications">
          {t("notification.all")}
        </LinkButton>
      }
    >
      <Card>
        <div className={styles.list}>
          {newest.map(({ id, title, text, level, created_at }) => (
            <Link key={id} to="/rules/notifications" className={styles.row}>
              <span className={styles.line}>
                <span dir="auto" className={styles.name}>
                  {title}
                </span>
                <span className={styles.detail}>{formatRelative(created_at)}</span>
              </span>
              <span className={styles.line}>
                <span dir="auto" className={styles.message}>
                  {text}
                </span>
                <LevelBadge level={level} />
              </span>
            </Link>
          ))}
        </div>
      </Card>
    </Section>
  );
}

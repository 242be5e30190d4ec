/** What rules have to say to their owner. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Bell, Check, CheckCheck, Trash2 } from "lucide-react";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import styles from "@/components/forms/Form.module.css";
import { Item, ItemList } from "@/components/layout/ItemList";
import { Section, Skeleton } from "@/components/layout/Page";
import { Pager } from "@/components/layout/Pager";
import { formatDateTime } from "@/i18n/format";
import { LevelBadge } from "./LevelBadge";
import { type Notification, notificationsQuery, useDeleteNotification, useMarkRead } from "./notificationQueries";

const route = getRouteApi("/shell/rules/notifications");

export function NotificationList() {
  const { t } = useTranslation("rules");
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch, isPlaceholderData } = useQuery(notificationsQuery(page));
  const read = useMarkRead();
  // The last one of the last page was deleted.
  const isBehind = data !== undefined && !isPlaceholderData && page > Math.max(data.pages, 1);
  const last = data?.pages || 1;
  useEffect(() => {
    if (isBehind) void navigate({ to: "/rules/notifications", search: { page: last }, replace: true });
  }, [isBehind, last, navigate]);
  const go = (next: number) => void navigate({ to: "/rules/notifications", search: { page: next } });
  if (error && !data) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton lines={8} />;
  if (data.total === 0)
    return (
      <EmptyState icon={Bell} title={t("notification.none")}>
        {t("notification.none_text")}
      </EmptyState>
    );
  return (
    <Section
      title={data.unread ? t("notification.unread", { count: data.unread }) : t("notification.all_read")}
      actions={
        data.unread > 0 && (
          <Button icon={CheckCheck} onClick={() => read.mutate(null)}>
            {t("notification.read_all")}
          </Button>
        )
      }
    >
      <ItemList label={t("tab.notifications")}>
        {data.items.map((item) => (
          <NotificationRow key={item.id} notification={item} onRead={() => read.mutate(item.id)} />
        ))}
      </ItemList>
      <Pager page={page} pages={data.pages} onPage={go} />
    </Section>
  );
}

function NotificationRow({ notification, onRead }: { notification: Notification; onRead: () => void }) {
  const { t } = useTranslation("rules");
  const remove = useDeleteNotification();
  const { id, title, text, level, created_at, read_at, rule_id, rule_name } = notification;
  return (
    <Item
      title={<span dir="auto">{title}</span>}
      badges={
        <>
          {!read_at && <Badge tone="accent">{t("notification.new")}</Badge>}
          <LevelBadge level={level} />
        </>
      }
      text={
        text && (
          <p dir="auto" className={styles.lines}>
            {text}
          </p>
        )
      }
      facts={[
        [t("notification.when"), formatDateTime(created_at)],
        [t("notification.rule"), rule_id && <RuleLinks id={rule_id} name={rule_name} />],
      ]}
      actions={
        <>
          {!read_at && <IconButton size="s" icon={Check} label={t("notification.read", { title })} onClick={onRead} />}
          <IconButton
            size="s"
            icon={Trash2}
            label={t("notification.delete", { title })}
            busy={remove.isPending}
            onClick={() => remove.mutate(id)}
          />
        </>
      }
    />
  );
}

function RuleLinks({ id, name }: { id: string; name: string | null }) {
  const { t } = useTranslation("rules");
  if (name === null) return t("notification.rule_gone");
  const params = { ruleId: id };
  return (
    <>
      <Link to="/rules/$ruleId" params={params}>
        {name}
      </Link>
      {" · "}
      <Link to="/rules/$ruleId/log" params={params} aria-label={t("notification.log_of", { name })}>
        {t("tab.log")}
      </Link>
    </>
  );
}

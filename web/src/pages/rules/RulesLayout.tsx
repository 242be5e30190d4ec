/** The frame of what belongs to all rules: the list, notifications and event sources. */
import { Outlet } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { LinkButton } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { Page } from "@/components/layout/Page";
import { TabLink, TabList } from "@/components/layout/Tabs";
import { formatNumber } from "@/i18n/format";
import { useUnreadCount } from "./notifications/notificationQueries";

export function RulesLayout() {
  const { t } = useTranslation(["rules", "common"]);
  const may = useMay();
  const unread = useUnreadCount();
  return (
    <Page
      title={t("common:nav.rules")}
      lead={t("lead")}
      actions={
        may("rule:write") && (
          <LinkButton to="/rules/new" variant="primary" icon={Plus}>
            {t("new")}
          </LinkButton>
        )
      }
    >
      <TabList label={t("tab.label")}>
        <TabLink to="/rules" activeOptions={{ exact: true, includeSearch: false }}>
          {t("tab.rules")}
        </TabLink>
        <TabLink to="/rules/notifications" activeOptions={{ includeSearch: false }}>
          {t("tab.notifications")}{" "}
          {unread > 0 && (
            <Badge tone="accent" title={t("notification.unread", { count: unread })}>
              {formatNumber(unread)}
            </Badge>
          )}
        </TabLink>
        <TabLink to="/rules/sources">{t("tab.sources")}</TabLink>
      </TabList>
      <Outlet />
    </Page>
  );
}

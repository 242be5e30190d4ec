/** The tabs of the administration that one may open. */

import { Navigate, Outlet, useRouterState } from "@tanstack/react-router";
import { Lock } from "lucide-react";
import type { ReactElement } from "react";
import { useTranslation } from "react-i18next";
import { useAccount, useMay } from "@/api/account";
import { EmptyState } from "@/components/feedback/Notice";
import { Page } from "@/components/layout/Page";
import { TabLink, TabList } from "@/components/layout/Tabs";

/** The tabs that need the permission to manage users; the others need the one to manage the system. */
const OF_USERS = ["/admin", "/admin/roles"];

export function AdminLayout(): ReactElement {
  const { t } = useTranslation(["admin", "common"]);
  const may = useMay();
  return (
    <Page title={t("common:nav.admin")}>
      <TabList label={t("tab.label")}>
        {may("users:manage") && (
          <>
            <TabLink to="/admin" activeOptions={{ exact: true, includeSearch: false }}>
              {t("tab.users")}
            </TabLink>
            <TabLink to="/admin/roles">{t("tab.roles")}</TabLink>
          </>
        )}
        {may("system:manage") && (
          <>
            <TabLink to="/admin/settings">{t("tab.settings")}</TabLink>
            <TabLink to="/admin/system">{t("tab.system")}</TabLink>
            <TabLink to="/admin/backups">{t("tab.backups")}</TabLink>
            <TabLink to="/admin/audit">{t("tab.audit")}</TabLink>
          </>
        )}
      </TabList>
      <AllowedTab />
    </Page>
  );
}

/** The open tab, or why it stays closed. */
function AllowedTab() {
  const { t } = useTranslation("admin");
  const path = useRouterState({ select: ({ location }) => location.pathname.replace(/\/$/, "") });
  const isKnown = useAccount() !== undefined;
  const may = useMay();
  if (!isKnown || may(OF_USERS.includes(path) ? "users:manage" : "system:manage")) return <Outlet />;
  if (path === "/admin" && may("system:manage")) return <Navigate to="/admin/settings" replace />;
  return (
    <EmptyState icon={Lock} title={t("closed.title")}>
      {t("closed.text")}
    </EmptyState>
  );
}

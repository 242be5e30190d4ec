/** The tabs of the administration that one may open. */

import { Outlet } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Page } from "@/components/Page";
import { TabLink, TabList } from "@/components/Tabs";

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
            <TabLink to="/admin/audit">{t("tab.audit")}</TabLink>
          </>
        )}
      </TabList>
      <Outlet />
    </Page>
  );
}

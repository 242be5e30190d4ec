/** One's own account: who one is, how the console looks, what is remembered, keys and tools. */

import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useTranslation } from "react-i18next";
import { accountQuery, useMay } from "@/api/account";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Page, Skeleton } from "@/components/layout/Page";
import { useRoleName } from "@/pages/admin/roleNames";
import { ApiKeys } from "./ApiKeys";
import { Appearance } from "./Appearance";
import { CalendarFeed } from "./CalendarFeed";
import { Identity } from "./Identity";
import { Memories } from "./Memories";
import { PasswordForm } from "./PasswordForm";
import { Storage } from "./Storage";
import { ToolPolicies } from "./ToolPolicies";

export function ProfilePage(): ReactElement {
  const { t } = useTranslation("common");
  const { data: account, error, refetch } = useQuery(accountQuery);
  const may = useMay();
  const roleName = useRoleName();
  return (
    <Page
      title={t("nav.profile")}
      lead={account && `${account.username} · ${account.email} · ${roleName(account.role)}`}
    >
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!account && !error && <Skeleton lines={8} />}
      {account && (
        <>
          <Identity account={account} />
          <Appearance account={account} />
          <PasswordForm />
          {may("memory:view") && <Memories account={account} />}
          <ApiKeys permissions={account.permissions} />
          {may("agent:run") && <ToolPolicies />}
          {may("calendar:view") && <CalendarFeed />}
          {may("kb:view") && <Storage />}
        </>
      )}
    </Page>
  );
}

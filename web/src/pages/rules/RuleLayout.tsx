/** The frame of one rule: its name, its switch, and tabs. */
import { useQuery } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { Page, Skeleton } from "@/components/layout/Page";
import { TabLink, TabList } from "@/components/layout/Tabs";
import { RuleMenu } from "./list/RuleMenu";
import { RuleSwitch } from "./list/RuleSwitch";
import { ruleQuery, useRuleId } from "./ruleQueries";
import { useTriggerWords } from "./useTriggerWords";

export function RuleLayout() {
  const { t } = useTranslation(["rules", "common"]);
  const id = useRuleId();
  const may = useMay();
  const trigger = useTriggerWords();
  const { data: rule, error, refetch } = useQuery(ruleQuery(id));
  const params = { ruleId: id };
  return (
    <Page
      wide
      title={rule?.name ?? t("common:nav.rules")}
      lead={rule && trigger(rule)}
      actions={
        rule && (
          <>
            {may("rule:write") && rule.access !== "read" && <RuleSwitch rule={rule} />}
            <RuleMenu rule={rule} />
          </>
        )
      }
    >
      {error && !rule && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!error && !rule && <Skeleton lines={8} />}
      {rule && (
        <>
          <TabList label={t("tab.one")}>
            <TabLink to="/rules/$ruleId" params={params} activeOptions={{ exact: true, includeSearch: false }}>
              {t("tab.rule")}
            </TabLink>
            <TabLink to="/rules/$ruleId/log" params={params} activeOptions={{ includeSearch: false }}>
              {t("tab.log")}
            </TabLink>
            <TabLink to="/rules/$ruleId/versions" params={params} activeOptions={{ includeSearch: false }}>
              {t("tab.versions")}
            </TabLink>
            {rule.access === "owner" && (
              <TabLink to="/rules/$ruleId/sharing" params={params}>
                {t("tab.shares")}
              </TabLink>
            )}
          </TabList>
          {rule.access !== "owner" && <Notice>{t("shares.read_only", { name: rule.owner_name })}</Notice>}
          <Outlet />
        </>
      )}
    </Page>
  );
}

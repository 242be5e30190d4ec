/** The frame of one skill: name, state, what can be done with it, and tabs. */
import { useQuery } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Page, Skeleton } from "@/components/layout/Page";
import { TabLink, TabList } from "@/components/layout/Tabs";
import { SkillActions } from "./SkillActions";
import { SkillBadges } from "./SkillBadges";
import { skillQuery, useSkillId } from "./skillQueries";
import { ReviewNotice } from "./versions/ReviewNotice";

export function SkillLayout() {
  const { t } = useTranslation(["skills", "common"]);
  const may = useMay();
  const id = useSkillId();
  const { data, error, refetch } = useQuery(skillQuery(id));
  const params = { skillId: id };
  const skill = data?.skill;
  return (
    <Page
      wide
      title={skill?.name ?? t("common:nav.skills")}
      lead={skill && <SkillBadges skill={skill} />}
      actions={skill && <SkillActions skill={skill} />}
    >
      {error && !skill && <ErrorNotice error={error} onRetry={() => refetch()} />}
      {!error && !skill && <Skeleton lines={8} />}
      {skill && (
        <>
          <ReviewNotice skill={skill} />
          <TabList label={t("tab.label")}>
            <TabLink to="/skills/$skillId" params={params} activeOptions={{ exact: true, includeSearch: false }}>
              {t(skill.can_write ? "tab.edit" : "tab.read")}
            </TabLink>
            <TabLink to="/skills/$skillId/versions" params={params} activeOptions={{ includeSearch: false }}>
              {t("tab.versions")}
            </TabLink>
            <TabLink to="/skills/$skillId/files" params={params}>
              {t("tab.files")}
            </TabLink>
            <TabLink to="/skills/$skillId/tests" params={params} activeOptions={{ includeSearch: false }}>
              {t("tab.tests")}
            </TabLink>
            {may("agent:run") && (
              <TabLink to="/skills/$skillId/comparison" params={params}>
                {t("tab.comparison")}
              </TabLink>
            )}
            {skill.access === "owner" && may("skill:write") && (
              <TabLink to="/skills/$skillId/settings" params={params}>
                {t("tab.settings")}
              </TabLink>
            )}
          </TabList>
          <Outlet />
        </>
      )}
    </Page>
  );
}

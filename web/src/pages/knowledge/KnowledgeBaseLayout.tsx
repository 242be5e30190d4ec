/** The frame of one knowledge base: name, notices and tabs. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, Outlet } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { LinkButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { Page, Skeleton } from "@/components/layout/Page";
import { TabLink, TabList } from "@/components/layout/Tabs";
import styles from "./KnowledgeBaseLayout.module.css";
import { BaseBadges } from "./KnowledgeBaseList";
import { type KnowledgeBase, knowledgeBaseQuery, useIsFilling } from "./queries";
import { useFailureText } from "./useFailureText";

const route = getRouteApi("/shell/knowledge-bases/$kbId");

export function KnowledgeBaseLayout() {
  const { t } = useTranslation(["knowledge", "common"]);
  const { kbId } = route.useParams();
  const found = useQuery(knowledgeBaseQuery(kbId));
  const base = found.data;
  if (!base)
    return (
      <Page title={t("common:nav.knowledge")}>
        {found.isError ? <ErrorNotice error={found.error} onRetry={() => found.refetch()} /> : <Skeleton lines={6} />}
      </Page>
    );
  return (
    <Page
      title={base.name}
      wide
      lead={
        <>
          <Link to="/knowledge-bases" className={styles.back}>
            {t("common:nav.knowledge")}
          </Link>
          <span className={styles.badges}>
            <BaseBadges base={base} />
          </span>
          {base.description && <span className={styles.description}>{base.description}</span>}
        </>
      }
    >
      <Notices base={base} />
      <Tabs base={base} />
      <Outlet />
    </Page>
  );
}

function Tabs({ base: { id, can_write, access } }: { base: KnowledgeBase }) {
  const { t } = useTranslation("knowledge");
  const params = { kbId: id };
  return (
    <TabList label={t("tab.label")}>
      <TabLink to="/knowledge-bases/$kbId" params={params} activeOptions={{ exact: true, includeSearch: false }}>
        {t("tab.documents")}
      </TabLink>
      {access === "owner" && (
        <TabLink to="/knowledge-bases/$kbId/sources" params={params}>
          {t("tab.sources")}
        </TabLink>
      )}
      <TabLink to="/knowledge-bases/$kbId/search" params={params} activeOptions={{ includeSearch: false }}>
        {t("tab.search")}
      </TabLink>
      <TabLink to="/knowledge-bases/$kbId/questions" params={params} activeOptions={{ includeSearch: false }}>
        {t("tab.questions")}
      </TabLink>
      <TabLink to="/knowledge-bases/$kbId/settings" params={params}>
        {t(can_write ? "tab.settings" : "tab.about")}
      </TabLink>
    </TabList>
  );
}

function Notices({ base }: { base: KnowledgeBase }) {
  const { t } = useTranslation("knowledge");
  const said = useFailureText();
  const isFilling = useIsFilling(base.id, base.enabled);
  return (
    <>
      {base.notices.map((notice) => (
        <Notice
          key={notice.code}
          tone="warning"
          action={
            notice.code === "reindex_offered" && (
              <LinkButton to="/knowledge-bases/$kbId/settings" params={{ kbId: base.id }} hash="splitting" size="s">
                {t("notice.to_settings")}
              </LinkButton>
            )
          }
        >
          <p>{said(notice).message}</p>
          {notice.code === "reindex_offered" ? <p>{t("notice.reindex_hint")}</p> : <p>{said(notice).next}</p>}
        </Notice>
      ))}
      {!base.enabled && (
        <Notice tone={isFilling ? "info" : "warning"}>{t(isFilling ? "notice.filling" : "notice.disabled")}</Notice>
      )}
    </>
  );
}

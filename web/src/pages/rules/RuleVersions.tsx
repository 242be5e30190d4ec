/** A rule as it was saved: what each version changed, and the way back to it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { GitCompare, RotateCcw } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call, type Schemas } from "@/api/client";
import { Button, IconButton } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import styles from "@/components/forms/Form.module.css";
import { Item, ItemList } from "@/components/layout/ItemList";
import { Skeleton } from "@/components/layout/Page";
import { Pager } from "@/components/layout/Pager";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { formatDateTime } from "@/i18n/format";
import { orderedJson } from "./orderedJson";
import { ruleQuery, useInvalidateRules, useRuleId, versionsQuery } from "./ruleQueries";

const Difference = lazy(() =>
  import("@/components/source/Difference").then((module) => ({ default: module.Difference })),
);

type Version = Schemas["RuleVersionAnswer"];
const route = getRouteApi("/shell/rules/$ruleId/versions");

export function RuleVersions() {
  const { t } = useTranslation("rules");
  const id = useRuleId();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: rule } = useQuery(ruleQuery(id));
  const { data, error, refetch } = useQuery(versionsQuery(id, page));
  if (error && !data) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton lines={8} />;
  const go = (next: number) =>
    void navigate({ to: "/rules/$ruleId/versions", params: { ruleId: id }, search: { page: next } });
  return (
    <>
      <ItemList label={t("tab.versions")}>
        {data.items.map((version, index) => (
          <VersionItem
            key={version.version}
            version={version}
            before={data.items[index + 1]}
            nextPage={page < data.pages ? page + 1 : null}
            isCurrent={rule?.version === version.version}
            isOwn={rule?.access === "owner"}
          />
        ))}
      </ItemList>
      <Pager page={page} pages={data.pages} onPage={go} />
    </>
  );
}

interface ItemProps {
  version: Version;
  /** The version before, if it is on the same page. */
  before: Version | undefined;
  /** The page of older versions, if there is one. */
  nextPage: number | null;
  isCurrent: boolean;
  isOwn: boolean;
}

function VersionItem({ version, before, nextPage, isCurrent, isOwn }: ItemProps) {
  const { t } = useTranslation("rules");
  const mayRestore = useMay()("rule:write") && isOwn;
  const [isOpen, setOpen] = useState(false);
  const { version: number, created_at } = version;
  return (
    <Item
      title={<span>{t("version.title", { number })}</span>}
      badges={isCurrent && <Badge tone="success">{t("version.current")}</Badge>}
      facts={[[t("version.saved"), formatDateTime(created_at)]]}
      actions={
        <>
          <Button
            size="s"
            variant="ghost"
            icon={GitCompare}
            aria-expanded={isOpen}
            aria-label={t("version.show", { number })}
            onClick={() => setOpen(!isOpen)}
          >
            {t("version.changes")}
          </Button>
          {mayRestore && !isCurrent && <RestoreButton number={number} />}
        </>
      }
    >
      {isOpen && (before ? <Changes {...{ version, before }} /> : <OlderChanges {...{ version, nextPage }} />)}
    </Item>
  );
}

/** What a version changed, where the one before is on the next page, or nowhere. */
function OlderChanges({ version, nextPage }: { version: Version; nextPage: number | null }) {
  const { t } = useTranslation("rules");
  const id = useRuleId();
  const { data, error, refetch, isPlaceholderData } = useQuery({
    ...versionsQuery(id, nextPage ?? 1),
    enabled: nextPage !== null,
  });
  if (nextPage === null)
    return <p className={styles.hint}>{t(version.version === 1 ? "version.first" : "version.oldest")}</p>;
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  const before = data?.items.find((item) => item.version < version.version);
  if (!before || isPlaceholderData) return <Skeleton lines={4} />;
  return <Changes version={version} before={before} />;
}

function Changes({ version, before }: { version: Version; before: Version }) {
  const { t } = useTranslation("rules");
  const phrases = useMemo(() => ({ "$ unchanged lines": t("version.unchanged") }), [t]);
  const [from, to] = [orderedJson(before.definition), orderedJson(version.definition)];
  if (from === to) return <p className={styles.hint}>{t("version.same")}</p>;
  return (
    <Suspense fallback={<Skeleton lines={4} />}>
      <Difference before={from} after={to} label={t("version.show", { number: version.version })} phrases={phrases} />
    </Suspense>
  );
}

function RestoreButton({ number }: { number: number }) {
  const { t } = useTranslation("rules");
  const id = useRuleId();
  const queries = useQueryClient();
  const invalidate = useInvalidateRules();
  const [asks, setAsks] = useState(false);
  async function restore() {
    const path = { rule_id: id, version: String(number) };
    const rule = await call(api.POST("/api/v1/rules/{rule_id}/versions/{version}/restore", { params: { path } }));
    queries.setQueryData(ruleQuery(id).queryKey, rule);
    await invalidate();
    notify(t("version.restored", { number }));
  }
  return (
    <>
      <IconButton
        size="s"
        icon={RotateCcw}
        label={t("version.restore_number", { number })}
        onClick={() => setAsks(true)}
      />
      <ConfirmDialog
        open={asks}
        onClose={() => setAsks(false)}
        title={t("version.restore_title", { number })}
        description={t("version.restore_text")}
        action={t("version.restore")}
        onConfirm={restore}
      />
    </>
  );
}

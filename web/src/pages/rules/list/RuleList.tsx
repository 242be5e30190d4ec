/** One's own rules, and those shared with one: what each waits for, and when it last acted. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus, Upload, Zap } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button, LinkButton } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { SelectField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { SearchField } from "@/components/forms/SearchField";
import { Item, ItemList } from "@/components/layout/ItemList";
import { Skeleton } from "@/components/layout/Page";
import { Pager } from "@/components/layout/Pager";
import { formatNumber, formatRelative } from "@/i18n/format";
import { type RuleItem, rulesQuery } from "../ruleQueries";
import type { ListSearch } from "../searchParams";
import { useTriggerWords } from "../useTriggerWords";
import { RuleImportDialog } from "./RuleImportDialog";
import { RuleMenu } from "./RuleMenu";
import { RuleSwitch } from "./RuleSwitch";

const route = getRouteApi("/shell/rules/");
/** Rules act while somebody looks. */
const PAUSE_MS = 10_000;

export function RuleList() {
  const { t } = useTranslation(["rules", "common"]);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const mayWrite = useMay()("rule:write");
  const [imports, setImports] = useState(false);
  const { data, error, refetch } = useQuery({ ...rulesQuery(search), refetchInterval: PAUSE_MS });
  const set = (part: ListSearch) => void navigate({ to: "/rules", search: { ...search, page: undefined, ...part } });
  const isFiltered = Boolean(search.q || search.enabled !== undefined);
  return (
    <>
      {(isFiltered || Boolean(data?.total)) && (
        <RuleFilters search={search} onChange={set}>
          {mayWrite && (
            <Button icon={Upload} onClick={() => setImports(true)}>
              {t("import.open")}
            </Button>
          )}
        </RuleFilters>
      )}
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={6} />}
      {data?.total === 0 && !isFiltered && <NoRules mayWrite={mayWrite} onImport={() => setImports(true)} />}
      {data?.total === 0 && isFiltered && <p className={styles.hint}>{t("list.no_match")}</p>}
      {data && data.items.length > 0 && (
        <ItemList label={t("common:nav.rules")}>
          {data.items.map((rule) => (
            <RuleRow key={rule.id} rule={rule} mayWrite={mayWrite} />
          ))}
        </ItemList>
      )}
      {data && <Pager page={search.page ?? 1} pages={data.pages} onPage={(page) => set({ page })} />}
      {imports && <RuleImportDialog onClose={() => setImports(false)} />}
    </>
  );
}

function RuleFilters({
  search,
  onChange,
  children,
}: {
  search: ListSearch;
  onChange: (part: ListSearch) => void;
  children: React.ReactNode;
}) {
  const { t } = useTranslation(["rules", "common"]);
  const state = search.enabled === undefined ? "" : search.enabled ? "on" : "off";
  return (
    <search className={styles.filters}>
      <SearchField
        label={t("common:action.search")}
        value={search.q ?? ""}
        onSearch={(q) => onChange({ q: q || undefined })}
      />
      <SelectField
        label={t("list.show")}
        value={state}
        options={(["", "on", "off"] as const).map((value) => ({ value, label: t(`list.state.${value || "all"}`) }))}
        onChange={({ target: { value } }) => onChange({ enabled: value ? value === "on" : undefined })}
      />
      {children}
    </search>
  );
}

function NoRules({ mayWrite, onImport }: { mayWrite: boolean; onImport: () => void }) {
  const { t } = useTranslation("rules");
  return (
    <EmptyState
      icon={Zap}
      title={t("list.none")}
      action={
        mayWrite && (
          <div className={styles.found}>
            <LinkButton to="/rules/new" variant="primary" icon={Plus}>
              {t("new")}
            </LinkButton>
            <Button icon={Upload} onClick={onImport}>
              {t("import.open")}
            </Button>
          </div>
        )
      }
    >
      {t(mayWrite ? "list.none_text" : "list.none_ask")}
    </EmptyState>
  );
}

function RuleRow({ rule, mayWrite }: { rule: RuleItem; mayWrite: boolean }) {
  const { t } = useTranslation("rules");
  const trigger = useTriggerWords();
  const { due_at, last_triggered_at: last } = rule;
  return (
    <Item
      title={
        <Link to="/rules/$ruleId" params={{ ruleId: rule.id }}>
          {rule.name}
        </Link>
      }
      badges={
        <>
          {rule.access !== "owner" && <Badge>{t("shares.owned", { name: rule.owner_name })}</Badge>}
          {!rule.enabled && <Badge>{t("state.off")}</Badge>}
        </>
      }
      text={rule.description && <p>{rule.description}</p>}
      facts={[
        [t("list.trigger"), trigger(rule)],
        [t("list.fired"), formatNumber(rule.trigger_count)],
        [t("list.last"), last && formatRelative(last)],
        [t("list.due"), rule.enabled && due_at && formatRelative(due_at)],
      ]}
      actions={
        <>
          {mayWrite && rule.access !== "read" && <RuleSwitch rule={rule} />}
          <LinkButton size="s" variant="ghost" to="/rules/$ruleId/log" params={{ ruleId: rule.id }}>
            {t("tab.log")}
          </LinkButton>
          <RuleMenu rule={rule} />
        </>
      }
    />
  );
}

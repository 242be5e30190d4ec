/** What a rule decided at events and what it did, as it happens. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ScrollText } from "lucide-react";
import { useTranslation } from "react-i18next";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { SelectField } from "@/components/forms/Field";
import formStyles from "@/components/forms/Form.module.css";
import { ItemList } from "@/components/layout/ItemList";
import { Skeleton } from "@/components/layout/Page";
import { Pager } from "@/components/layout/Pager";
import { logsQuery, useRuleId } from "../ruleQueries";
import { LOG_STATUSES, type LogSearch } from "../searchParams";
import { LogEntry } from "./LogEntry";
import { useLogStream } from "./useLogStream";

const route = getRouteApi("/shell/rules/$ruleId/log");

export function RuleLog() {
  const { t } = useTranslation("rules");
  const id = useRuleId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const isLive = useLogStream(id);
  const { data, error, refetch } = useQuery(logsQuery(id, search));
  const set = (part: LogSearch) =>
    void navigate({ search: { ...search, page: undefined, ...part }, replace: true, resetScroll: false });
  return (
    <>
      <div className={formStyles.filters}>
        <SelectField
          label={t("log.status")}
          value={search.status ?? ""}
          options={[
            { value: "", label: t("log.any") },
            ...LOG_STATUSES.map((value) => ({ value, label: t(`status.${value}`) })),
          ]}
          onChange={({ target }) => set({ status: LOG_STATUSES.find((status) => status === target.value) })}
        />
      </div>
      <p className={formStyles.hint} role="status">
        {t(isLive ? "log.live" : "log.offline")}
      </p>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={6} />}
      {data?.items.length === 0 && search.status && <p className={formStyles.hint}>{t("log.no_match")}</p>}
      {data?.items.length === 0 && !search.status && (
        <EmptyState icon={ScrollText} title={t("log.none")}>
          {t("log.none_text")}
        </EmptyState>
      )}
      {data && data.items.length > 0 && (
        <ItemList label={t("tab.log")}>
          {data.items.map((entry) => (
            <LogEntry key={entry.id} ruleId={id} entry={entry} />
          ))}
        </ItemList>
      )}
      {data && <Pager page={search.page ?? 1} pages={data.pages} onPage={(page) => set({ page })} />}
    </>
  );
}

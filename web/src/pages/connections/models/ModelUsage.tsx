/** What was spent on models over time: a plot and sums. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call, type Schemas } from "@/api/client";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { SelectField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { Card, Section, Skeleton, Table } from "@/components/layout/Page";
import { formatNumber } from "@/i18n/format";
import type { UsageDays } from "../routes";
import { daysBetween, type Measure, type ModelSum, seriesOf, sumByModel } from "./usageSeries";

const route = getRouteApi("/shell/models");
const UsagePlot = lazy(async () => ({ default: (await import("./UsagePlot")).UsagePlot }));
const USUAL_DAYS = 30;
const PAGE_SIZE = 100;
const MOST_PAGES = 50;
const DAYS = ["7", "30", "90", "365"] as const;

async function fetchUsage(days: number, scope: "own" | "all") {
  const since = new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
  const rows: Schemas["UsageAnswer"][] = [];
  for (let page = 1; ; page++) {
    const query = { since, scope, page, page_size: PAGE_SIZE };
    const part = await call(api.GET("/api/v1/models/usage", { params: { query } }));
    rows.push(...part.items);
    if (page >= part.pages || page >= MOST_PAGES) return { rows, since, until: part.until, totals: part.totals };
  }
}

export function ModelUsage() {
  const { t } = useTranslation("connections");
  const { days = USUAL_DAYS, scope = "own", measure = "tokens" } = route.useSearch();
  const { data, error, refetch } = useQuery({
    queryKey: ["models", "usage", days, scope],
    queryFn: () => fetchUsage(days, scope),
  });
  return (
    <Section title={t("usage.title")}>
      <Filters />
      {error ? (
        <ErrorNotice error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton lines={5} />
      ) : data.rows.length === 0 ? (
        <Notice>{t(scope === "all" ? "usage.none_all" : "usage.none")}</Notice>
      ) : (
        <Usage {...data} measure={measure} />
      )}
    </Section>
  );
}

function Filters() {
  const { t } = useTranslation("connections");
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const { days = USUAL_DAYS, scope = "own", measure = "tokens" } = search;
  const manages = useMay()("models:manage");
  const set = (part: { days?: UsageDays; scope?: "all" | undefined; measure?: "cost" | undefined }) =>
    void navigate({ to: "/models", search: { ...search, ...part }, replace: true, resetScroll: false });
  return (
    <div className={styles.filters}>
      <SelectField
        label={t("usage.days")}
        options={DAYS.map((value) => ({ value, label: t(`usage.last.${value}`) }))}
        value={String(days)}
        onChange={(event) => set({ days: Number(event.target.value) as UsageDays })}
      />
      <SelectField
        label={t("usage.measure")}
        options={(["tokens", "cost"] as const).map((value) => ({ value, label: t(`usage.${value}`) }))}
        value={measure}
        onChange={(event) => set({ measure: event.target.value === "cost" ? "cost" : undefined })}
      />
      {manages && (
        <SelectField
          label={t("usage.scope")}
          options={(["own", "all"] as const).map((value) => ({ value, label: t(`usage.scope_${value}`) }))}
          value={scope}
          onChange={(event) => set({ scope: event.target.value === "all" ? "all" : undefined })}
        />
      )}
    </div>
  );
}

interface UsageProps {
  rows: Schemas["UsageAnswer"][];
  since: string;
  until: string;
  totals: Schemas["UsageSums"];
  measure: Measure;
}

function Usage({ rows, since, until, totals, measure }: UsageProps) {
  const { t } = useTranslation("connections");
  const days = useMemo(() => daysBetween(since, until), [since, until]);
  const series = useMemo(() => seriesOf(rows, days, measure), [rows, days, measure]);
  const sums = sumByModel(rows);
  return (
    <>
      {measure === "cost" && totals.cost === null ? (
        <Notice>{t("usage.no_prices")}</Notice>
      ) : (
        <Card>
          <Suspense fallback={<Skeleton lines={6} />}>
            <UsagePlot days={days} series={series} label={t(`usage.plot_${measure}`, { since, until })} />
          </Suspense>
        </Card>
      )}
      <UsageTable sums={sums} totals={totals} />
    </>
  );
}

function UsageTable({ sums, totals }: { sums: ModelSum[]; totals: Schemas["UsageSums"] }) {
  const { t } = useTranslation("connections");
  const cost = (value: number | null) =>
    value === null ? t("usage.unknown") : formatNumber(value, { maximumFractionDigits: 4 });
  const columns = ["model", "runs", "prompt", "completion", "cost"] as const;
  const all = {
    id: "",
    name: t("usage.total"),
    ...totals,
    prompt: totals.prompt_tokens,
    completion: totals.completion_tokens,
  };
  return (
    <Table label={t("usage.title")} head={columns.map((each) => <th key={each}>{t(`usage.${each}`)}</th>)}>
      {[...sums, ...(sums.length > 1 ? [all] : [])].map((row) => (
        <tr key={row.id}>
          <td>{row.id ? row.name : <strong>{row.name}</strong>}</td>
          <td>{formatNumber(row.runs)}</td>
          <td>{formatNumber(row.prompt)}</td>
          <td>{formatNumber(row.completion)}</td>
          <td>{cost(row.cost)}</td>
        </tr>
      ))}
    </Table>
  );
}

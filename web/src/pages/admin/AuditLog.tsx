/** Who did what, when and from where. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { type ReactElement, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas, save } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { useErrorToast } from "@/components/feedback/toasts";
import { SelectField, TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { SearchField } from "@/components/forms/SearchField";
import { Section, Skeleton, Table } from "@/components/layout/Page";
import { Pager } from "@/components/layout/Pager";
import { formatDateTime } from "@/i18n/format";
import { ACTIONS, auditParameters, auditQueryString } from "./auditFilter";
import { useActName, useDetailText, useKindName } from "./auditNames";
import type { AuditSearch } from "./routes";

const route = getRouteApi("/shell/admin/audit");

export function AuditLog(): ReactElement {
  const { t } = useTranslation("admin");
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const fail = useErrorToast();
  const [exports, setExports] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ["audit", search],
    queryFn: () => {
      const query = { ...auditParameters(search), page: search.page ?? 1, page_size: 50 };
      return call(api.GET("/api/v1/system/audit", { params: { query } }));
    },
    placeholderData: (before) => before,
  });
  const set = (part: AuditSearch) =>
    void navigate({
      to: "/admin/audit",
      search: { ...search, page: undefined, ...part },
      replace: true,
      resetScroll: false,
    });
  async function download() {
    setExports(true);
    await save(`/api/v1/system/audit/export?${auditQueryString(search)}`).catch(fail);
    setExports(false);
  }
  return (
    <Section
      title={data ? t("audit.count", { count: data.total }) : t("tab.audit")}
      actions={
        <Button icon={Download} busy={exports} onClick={() => void download()}>
          {t("audit.export")}
        </Button>
      }
    >
      <AuditFilters search={search} onChange={set} />
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={8} />}
      {data?.items.length === 0 && <p className={styles.hint}>{t("audit.none")}</p>}
      {data && data.items.length > 0 && <Acts acts={data.items} />}
      {data && <Pager page={search.page ?? 1} pages={data.pages} onPage={(page) => set({ page })} />}
    </Section>
  );
}

function AuditFilters({ search, onChange }: { search: AuditSearch; onChange: (part: AuditSearch) => void }) {
  const { t } = useTranslation("admin");
  const actName = useActName();
  return (
    <div className={styles.filters}>
      <SearchField label={t("audit.search")} value={search.q ?? ""} onSearch={(q) => onChange({ q: q || undefined })} />
      <SelectField
        label={t("audit.action")}
        value={search.action ?? ""}
        options={[{ value: "", label: t("user.any") }, ...ACTIONS.map((value) => ({ value, label: actName(value) }))]}
        onChange={(event) => onChange({ action: event.target.value || undefined })}
      />
      <SearchField
        label={t("audit.actor")}
        value={search.actor ?? ""}
        onSearch={(actor) => onChange({ actor: actor || undefined })}
      />
      {(["since", "until"] as const).map((field) => (
        <TextField
          key={field}
          label={t(`audit.${field}`)}
          type="date"
          value={search[field] ?? ""}
          onChange={(event) => onChange({ [field]: event.target.value || undefined })}
        />
      ))}
    </div>
  );
}

function Acts({ acts }: { acts: Schemas["AuditAnswer"][] }) {
  const { t } = useTranslation("admin");
  const actName = useActName();
  const kindName = useKindName();
  const detailText = useDetailText();
  const columns = ["time", "action", "actor", "object", "from", "details"] as const;
  return (
    <Table label={t("tab.audit")} head={columns.map((each) => <th key={each}>{t(`audit.${each}`)}</th>)}>
      {acts.map((act) => (
        <tr key={act.id}>
          <td className={styles.unbroken}>{formatDateTime(act.created_at)}</td>
          <td className={styles.unbroken} title={act.action}>
            {actName(act.action)}
          </td>
          <td>
            {act.actor_name ? (
              <Link to="/admin/audit" search={{ actor: act.actor_name }} title={t("audit.only_actor")}>
                {act.actor_name}
              </Link>
            ) : (
              t("audit.nobody")
            )}
          </td>
          {/* The codes stay to be seen: the API and the terminal filter by them. */}
          <td className={styles.roomy} title={act.object_type}>
            {[kindName(act.object_type), act.object_name || act.object_id].filter(Boolean).join(" ")}
          </td>
          <td title={act.request_id}>{act.address}</td>
          <td className={styles.roomy} title={JSON.stringify(act.details)}>
            {detailText(act.details)}
          </td>
        </tr>
      ))}
    </Table>
  );
}

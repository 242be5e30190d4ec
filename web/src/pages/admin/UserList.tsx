/** The accounts: search, make, change, close. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { UserPlus } from "lucide-react";
import { type ReactElement, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { SelectField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { SearchField } from "@/components/forms/SearchField";
import { ItemList } from "@/components/layout/ItemList";
import { Section, Skeleton } from "@/components/layout/Page";
import { Pager } from "@/components/layout/Pager";
import { NewUserForm } from "./NewUserForm";
import { useRoleName } from "./roleNames";
import type { UserSearch } from "./routes";
import { UserItem } from "./UserItem";
import { rolesQuery, usersQuery } from "./userQueries";

const route = getRouteApi("/shell/admin/");

export function UserList(): ReactElement {
  const { t } = useTranslation("admin");
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const roleName = useRoleName();
  const [isOpen, setOpen] = useState(false);
  const roles = useQuery(rolesQuery);
  const { data, error, refetch } = useQuery(usersQuery(search));
  const set = (part: UserSearch) =>
    void navigate({ to: "/admin", search: { ...search, page: undefined, ...part }, replace: true, resetScroll: false });
  return (
    <Section
      title={data ? t("user.count", { count: data.total }) : t("tab.users")}
      actions={
        <Button variant="primary" icon={UserPlus} onClick={() => setOpen(true)}>
          {t("user.add")}
        </Button>
      }
    >
      <div className={styles.filters}>
        <SearchField label={t("user.search")} value={search.q ?? ""} onSearch={(q) => set({ q: q || undefined })} />
        <SelectField
          label={t("user.role")}
          value={search.role ?? ""}
          options={[
            { value: "", label: t("user.any") },
            ...(roles.data?.items ?? []).map((role) => ({ value: role.id, label: roleName(role) })),
          ]}
          onChange={(event) => set({ role: event.target.value || undefined })}
        />
        <SelectField
          label={t("user.status")}
          value={search.status ?? ""}
          options={(["", "active", "disabled"] as const).map((value) => ({
            value,
            label: t(`user.${value || "any"}`),
          }))}
          onChange={(event) => set({ status: (event.target.value || undefined) as UserSearch["status"] })}
        />
      </div>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={5} />}
      {data?.items.length === 0 && <p className={styles.hint}>{t("user.none")}</p>}
      {data && data.items.length > 0 && (
        <ItemList label={t("tab.users")}>
          {data.items.map((user) => (
            <UserItem key={user.id} user={user} />
          ))}
        </ItemList>
      )}
      {data && <Pager page={search.page ?? 1} pages={data.pages} onPage={(page) => set({ page })} />}
      {isOpen && <NewUserForm onClose={() => setOpen(false)} />}
    </Section>
  );
}

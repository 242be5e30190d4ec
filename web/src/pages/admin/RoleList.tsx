/** The roles: which may do what. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, Minus, Plus } from "lucide-react";
import { type ReactElement, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, callEmpty, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import styles from "@/components/forms/Form.module.css";
import { Section, Skeleton, Table } from "@/components/layout/Page";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { usePermissionName } from "./permissionNames";
import { RoleForm } from "./RoleForm";
import { useRoleName } from "./roleNames";
import { rolesQuery } from "./userQueries";

type Role = Schemas["WholeRoleAnswer"];

export function RoleList(): ReactElement {
  const { t } = useTranslation(["admin", "common"]);
  const queries = useQueryClient();
  const [form, setForm] = useState<Role | "new" | null>(null);
  const [doomed, setDoomed] = useState<Role | null>(null);
  const { data, error, refetch } = useQuery(rolesQuery);
  async function remove(role: Role) {
    await callEmpty(api.DELETE("/api/v1/admin/roles/{role_id}", { params: { path: { role_id: role.id } } }));
    await queries.invalidateQueries({ queryKey: rolesQuery.queryKey });
  }
  return (
    <Section
      title={t("tab.roles")}
      actions={
        <Button variant="primary" icon={Plus} onClick={() => setForm("new")}>
          {t("role.add")}
        </Button>
      }
    >
      <p className={styles.hint}>{t("role.hint")}</p>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={8} />}
      {data && <Matrix list={data} onEdit={setForm} onDelete={setDoomed} />}
      {form && <RoleForm role={form === "new" ? null : form} onClose={() => setForm(null)} />}
      <ConfirmDialog
        open={doomed !== null}
        onClose={() => setDoomed(null)}
        title={t("role.delete_title", { name: doomed?.display_name || doomed?.name })}
        description={t("role.delete_text")}
        action={t("common:action.delete")}
        onConfirm={async () => doomed && remove(doomed)}
      />
    </Section>
  );
}

interface MatrixProps {
  list: Schemas["RoleList"];
  onEdit: (role: Role) => void;
  onDelete: (role: Role) => void;
}

function Matrix({ list, onEdit, onDelete }: MatrixProps) {
  const { t } = useTranslation(["admin", "common"]);
  const roleName = useRoleName();
  const permissionName = usePermissionName();
  const own = list.items.filter((role) => !role.built_in);
  const head = [
    <th key="permission">{t("role.permission")}</th>,
    ...list.items.map((role) => <th key={role.id}>{roleName(role)}</th>),
  ];
  return (
    <Table label={t("role.matrix")} head={head}>
      {list.permissions.map((permission) => (
        <tr key={permission}>
          <td>{permissionName(permission)}</td>
          {list.items.map((role) => (
            <td key={role.id}>
              <Mark isOn={role.permissions.includes(permission)} />
            </td>
          ))}
        </tr>
      ))}
      <tr>
        <td>{t("role.members")}</td>
        {list.items.map((role) => (
          <td key={role.id}>
            <Link to="/admin" search={{ role: role.id }} aria-label={t("role.members_of", { name: roleName(role) })}>
              {t("tab.users")}
            </Link>
          </td>
        ))}
      </tr>
      {own.length > 0 && (
        <tr>
          <td>{t("role.change")}</td>
          {list.items.map((role) => (
            <td key={role.id}>
              {!role.built_in && (
                <div className={styles.found}>
                  <Button
                    size="s"
                    onClick={() => onEdit(role)}
                    aria-label={t("role.edit_name", { name: roleName(role) })}
                  >
                    {t("common:action.edit")}
                  </Button>
                  <Button
                    size="s"
                    onClick={() => onDelete(role)}
                    aria-label={t("role.delete_name", { name: roleName(role) })}
                  >
                    {t("common:action.delete")}
                  </Button>
                </div>
              )}
            </td>
          ))}
        </tr>
      )}
    </Table>
  );
}

function Mark({ isOn }: { isOn: boolean }) {
  const { t } = useTranslation("admin");
  const Icon = isOn ? Check : Minus;
  return (
    <>
      <Icon size={16} aria-hidden />
      <span className="visually-hidden">{t(isOn ? "role.may" : "role.may_not")}</span>
    </>
  );
}

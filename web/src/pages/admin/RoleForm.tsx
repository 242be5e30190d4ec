/** A dialog that makes or changes a role. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAccount } from "@/api/account";
import { api, call, type Schemas } from "@/api/client";
import { CheckboxField, TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { FormDialog } from "@/components/forms/FormDialog";
import { usePermissionName } from "./permissionNames";
import { rolesQuery } from "./userQueries";

export function RoleForm({ role, onClose }: { role: Schemas["WholeRoleAnswer"] | null; onClose: () => void }) {
  const { t } = useTranslation(["admin", "common"]);
  const queries = useQueryClient();
  const permissionName = usePermissionName();
  const own = useAccount()?.permissions ?? [];
  const all = useQuery(rolesQuery).data?.permissions ?? [];
  const [name, setName] = useState(role?.name ?? "");
  const [display, setDisplay] = useState(role?.display_name ?? "");
  const [permissions, setPermissions] = useState(role?.permissions ?? []);
  async function send() {
    const body = { name: name.trim(), display_name: display.trim(), permissions };
    if (role) await call(api.PUT("/api/v1/admin/roles/{role_id}", { params: { path: { role_id: role.id } }, body }));
    else await call(api.POST("/api/v1/admin/roles", { body }));
    await queries.invalidateQueries({ queryKey: rolesQuery.queryKey });
  }
  return (
    <FormDialog
      title={t(role ? "role.edit" : "role.add")}
      action={t("common:action.save")}
      onSend={send}
      onClose={onClose}
    >
      <TextField
        label={t("role.short_name")}
        hint={t("role.short_name_hint")}
        value={name}
        maxLength={50}
        onChange={(event) => setName(event.target.value)}
        required
      />
      <TextField
        label={t("role.display_name")}
        value={display}
        maxLength={100}
        onChange={(event) => setDisplay(event.target.value)}
      />
      <fieldset className={styles.group}>
        <legend>{t("role.permissions")}</legend>
        <div className={styles.choices}>
          {all.map((permission) => (
            <CheckboxField
              key={permission}
              label={permissionName(permission)}
              checked={permissions.includes(permission)}
              disabled={!own.includes(permission)}
              onChange={(isOn) =>
                setPermissions(isOn ? [...permissions, permission] : permissions.filter((each) => each !== permission))
              }
            />
          ))}
        </div>
      </fieldset>
    </FormDialog>
  );
}

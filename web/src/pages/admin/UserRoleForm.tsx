/** A dialog that gives an account another role. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { FormDialog } from "@/components/forms/FormDialog";
import { RoleSelect } from "./RoleSelect";
import { type User, useInvalidateUsers } from "./userQueries";

export function UserRoleForm({ user, onClose }: { user: User; onClose: () => void }) {
  const { t } = useTranslation(["admin", "common"]);
  const [role, setRole] = useState(user.role.id);
  const invalidate = useInvalidateUsers();
  async function send() {
    const params = { path: { user_id: user.id } };
    await call(api.PUT("/api/v1/admin/users/{user_id}", { params, body: { role_id: role } }));
    await invalidate();
  }
  return (
    <FormDialog
      title={t("user.change_role_of", { name: user.username })}
      description={t("user.role_hint")}
      action={t("common:action.save")}
      disabled={role === user.role.id}
      onSend={send}
      onClose={onClose}
    >
      <RoleSelect value={role} onChange={setRole} />
    </FormDialog>
  );
}

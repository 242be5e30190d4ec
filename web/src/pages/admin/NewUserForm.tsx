/** A dialog that makes an account for somebody. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { TextField } from "@/components/forms/Field";
import { FormDialog } from "@/components/forms/FormDialog";
import { NewPasswordField } from "@/components/forms/NewPasswordField";
import { RoleSelect } from "./RoleSelect";
import { useInvalidateUsers } from "./userQueries";

export function NewUserForm({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(["admin", "common"]);
  const [username, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [role, setRole] = useState("");
  const invalidate = useInvalidateUsers();
  async function send() {
    const body = { username: username.trim(), email: email.trim(), password, role_id: role || null };
    await call(api.POST("/api/v1/admin/users", { body }));
    await invalidate();
  }
  return (
    <FormDialog title={t("user.add")} action={t("common:action.create")} onSend={send} onClose={onClose}>
      <TextField
        label={t("user.name")}
        value={username}
        onChange={(event) => setName(event.target.value)}
        autoComplete="off"
        required
      />
      <TextField
        label={t("user.email")}
        type="email"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        autoComplete="off"
        required
      />
      <NewPasswordField label={t("user.password")} value={password} onChange={setPassword} />
      <RoleSelect value={role} onChange={setRole} usual={t("user.usual_role")} />
    </FormDialog>
  );
}

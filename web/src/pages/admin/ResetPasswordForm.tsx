/** A dialog that gives an account another password. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, callEmpty } from "@/api/client";
import { CheckboxField } from "@/components/forms/Field";
import { FormDialog } from "@/components/forms/FormDialog";
import { NewPasswordField } from "@/components/forms/NewPasswordField";
import type { User } from "./userQueries";

export function ResetPasswordForm({ user, onClose }: { user: User; onClose: () => void }) {
  const { t } = useTranslation(["admin", "common"]);
  const [password, setPassword] = useState("");
  const [revokes, setRevokes] = useState(false);
  const body = { new_password: password, revoke_api_keys: revokes };
  const params = { path: { user_id: user.id } };
  return (
    <FormDialog
      title={t("user.reset_password_of", { name: user.username })}
      description={t("user.reset_password_hint")}
      action={t("user.reset_password")}
      onSend={() => callEmpty(api.PUT("/api/v1/admin/users/{user_id}/password", { params, body }))}
      onClose={onClose}
    >
      <NewPasswordField label={t("user.password")} value={password} onChange={setPassword} />
      <CheckboxField label={t("user.revoke_keys")} checked={revokes} onChange={setRevokes} />
    </FormDialog>
  );
}

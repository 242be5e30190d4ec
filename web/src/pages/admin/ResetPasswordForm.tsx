/** A dialog that gives an account another password. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, callEmpty } from "@/api/client";
import { CheckboxField, TextField } from "@/components/Field";
import { FormDialog } from "./FormDialog";
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
      <TextField
        label={t("user.password")}
        hint={t("common:sign_in.password_rule")}
        type="password"
        minLength={8}
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        autoComplete="new-password"
        required
      />
      <CheckboxField label={t("user.revoke_keys")} checked={revokes} onChange={setRevokes} />
    </FormDialog>
  );
}

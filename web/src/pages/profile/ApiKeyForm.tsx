/** A dialog that makes an API key and shows it this once. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Permission } from "@/api/account";
import { api, call } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { CopyField } from "@/components/forms/CopyField";
import { CheckboxField, SwitchField, TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import { usePermissionName } from "@/pages/admin/permissionNames";

export function ApiKeyForm({ permissions, onClose }: { permissions: string[]; onClose: () => void }) {
  const { t } = useTranslation(["profile", "common"]);
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[] | null>(null);
  const [end, setEnd] = useState("");
  const create = useMutation({
    mutationFn: () =>
      call(
        api.POST("/api/v1/users/me/api-keys", {
          body: {
            name: name.trim(),
            scopes: scopes as Permission[] | null,
            // The key works through its last day, by the person's own clock.
            expires_at: end ? new Date(`${end}T23:59:59`).toISOString() : null,
          },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["api-keys"] }),
  });
  if (create.data)
    return (
      <Dialog open onClose={onClose} title={t("key.made_title")} description={t("key.made_text")}>
        <CopyField label={t("key.key")} value={create.data.key} />
        <DialogActions>
          <Button variant="primary" onClick={onClose}>
            {t("key.kept")}
          </Button>
        </DialogActions>
      </Dialog>
    );
  const today = new Date();
  const tomorrow = new Date(today.getFullYear(), today.getMonth(), today.getDate() + 1, 12).toISOString().slice(0, 10);
  return (
    <Dialog open onClose={onClose} title={t("key.add")}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <TextField
          label={t("key.name")}
          hint={t("key.name_hint")}
          value={name}
          maxLength={100}
          onChange={(event) => setName(event.target.value)}
          required
        />
        <TextField
          label={t("key.end")}
          hint={t("key.end_hint")}
          type="date"
          min={tomorrow}
          value={end}
          onChange={(event) => setEnd(event.target.value)}
        />
        <Scopes permissions={permissions} scopes={scopes} onChange={setScopes} />
        {create.isError && <ErrorNotice error={create.error} />}
        <DialogActions>
          <Button onClick={onClose}>{t("common:action.cancel")}</Button>
          <Button
            type="submit"
            variant="primary"
            busy={create.isPending}
            disabled={!name.trim() || scopes?.length === 0}
          >
            {t("key.add")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

interface ScopesProps {
  permissions: string[];
  scopes: string[] | null;
  onChange: (scopes: string[] | null) => void;
}

function Scopes({ permissions, scopes, onChange }: ScopesProps) {
  const { t } = useTranslation("profile");
  const permissionName = usePermissionName();
  return (
    <div className={styles.group}>
      <SwitchField
        label={t("key.bounded")}
        hint={t("key.bounded_hint")}
        checked={scopes !== null}
        onChange={(isBounded) => onChange(isBounded ? [] : null)}
      />
      {scopes && (
        <fieldset className={styles.group}>
          <legend>{t("key.scopes")}</legend>
          <div className={styles.choices}>
            {permissions.map((permission) => (
              <CheckboxField
                key={permission}
                label={permissionName(permission)}
                checked={scopes.includes(permission)}
                onChange={(isOn) =>
                  onChange(isOn ? [...scopes, permission] : scopes.filter((each) => each !== permission))
                }
              />
            ))}
          </div>
        </fieldset>
      )}
    </div>
  );
}

/** Change one's password. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, callEmpty } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { NewPasswordField } from "@/components/forms/NewPasswordField";
import { Card, Section } from "@/components/layout/Page";

export function PasswordForm() {
  const { t } = useTranslation(["profile", "common"]);
  const [old, setOld] = useState("");
  const [next, setNext] = useState("");
  const change = useMutation({
    mutationFn: () =>
      callEmpty(api.PUT("/api/v1/users/me/password", { body: { old_password: old, new_password: next } })),
    onSuccess: () => {
      setOld("");
      setNext("");
      notify(t("password.changed"));
    },
  });
  return (
    <Section title={t("password.title")}>
      <Card>
        <form
          className={styles.form}
          onSubmit={(event) => {
            event.preventDefault();
            change.mutate();
          }}
        >
          {change.isError && <ErrorNotice error={change.error} />}
          <div className={styles.pair}>
            <TextField
              label={t("password.old")}
              type="password"
              autoComplete="current-password"
              value={old}
              onChange={(event) => setOld(event.target.value)}
              required
            />
            <NewPasswordField label={t("password.new")} value={next} onChange={setNext} />
          </div>
          <p className={styles.hint}>{t("password.hint")}</p>
          <div>
            <Button type="submit" busy={change.isPending} disabled={!old || !next}>
              {t("password.change")}
            </Button>
          </div>
        </form>
      </Card>
    </Section>
  );
}

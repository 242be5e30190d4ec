/** Name and picture. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { Card, Section } from "@/components/layout/Page";
import { useChangeAccount } from "./useChangeAccount";

export function Identity({ account }: { account: Schemas["AccountAnswer"] }) {
  const { t } = useTranslation(["profile", "common"]);
  const [name, setName] = useState(account.username);
  const [avatar, setAvatar] = useState(account.avatar_url ?? "");
  const change = useChangeAccount();
  const isSame = name === account.username && avatar === (account.avatar_url ?? "");
  return (
    <Section title={t("identity.title")}>
      <Card>
        <form
          className={styles.form}
          onSubmit={(event) => {
            event.preventDefault();
            change.mutate({ username: name.trim(), avatar_url: avatar.trim() });
          }}
        >
          {change.isError && <ErrorNotice error={change.error} />}
          <div className={styles.pair}>
            <TextField
              label={t("identity.name")}
              value={name}
              onChange={(event) => setName(event.target.value)}
              autoComplete="username"
              required
            />
            <TextField label={t("identity.email")} value={account.email} hint={t("identity.email_hint")} readOnly />
            <TextField
              label={t("identity.avatar")}
              hint={t("identity.avatar_hint")}
              type="url"
              value={avatar}
              onChange={(event) => setAvatar(event.target.value)}
              maxLength={2000}
            />
          </div>
          <div>
            <Button type="submit" variant="primary" busy={change.isPending} disabled={isSame}>
              {t("common:action.save")}
            </Button>
          </div>
        </form>
      </Card>
    </Section>
  );
}

/** Language, colours and time zone. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { SelectField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { Card, Section } from "@/components/layout/Page";
import { changeLanguage, currentLanguage, LANGUAGES, type Language } from "@/i18n";
import { applyTheme, currentTheme, THEMES, type Theme } from "@/theme";
import { useChangeAccount } from "./useChangeAccount";

export function Appearance({ account }: { account: Schemas["AccountAnswer"] }) {
  const { t } = useTranslation(["profile", "common"]);
  const [theme, setTheme] = useState(currentTheme);
  function choose(next: Theme) {
    applyTheme(next);
    setTheme(next);
  }
  return (
    <Section title={t("appearance.title")}>
      <Card>
        <div className={styles.pair}>
          <SelectField
            label={t("appearance.language")}
            value={currentLanguage()}
            options={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
            onChange={(event) => void changeLanguage(event.target.value as Language)}
          />
          <SelectField
            label={t("appearance.theme")}
            value={theme}
            options={THEMES.map((value) => ({ value, label: t(`common:theme.${value}`) }))}
            onChange={(event) => choose(event.target.value as Theme)}
          />
          <TimeZone chosen={account.settings.timezone} />
        </div>
      </Card>
    </Section>
  );
}

function TimeZone({ chosen }: { chosen: string | null }) {
  const { t } = useTranslation("profile");
  const change = useChangeAccount();
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zones = new Set([...(chosen ? [chosen] : []), here, "UTC", ...Intl.supportedValuesOf("timeZone")]);
  return (
    <div className={styles.form}>
      <SelectField
        label={t("appearance.zone")}
        hint={t("appearance.zone_hint", { here })}
        value={chosen ?? ""}
        disabled={change.isPending}
        options={[
          { value: "", label: t("appearance.no_zone") },
          ...[...zones].map((value) => ({ value, label: value.replaceAll("_", " ") })),
        ]}
        onChange={(event) => change.mutate({ settings: { timezone: event.target.value } })}
      />
      {change.isError && <ErrorNotice error={change.error} />}
    </div>
  );
}

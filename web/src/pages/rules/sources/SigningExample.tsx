/** How a sender signs its events, behind a heading. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { SelectField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { Disclosure } from "@/components/overlays/Disclosure";
import { EXAMPLE_LANGUAGES, type ExampleLanguage, signingExample } from "./signing";

export function SigningExample({ address }: { address: string }) {
  const { t } = useTranslation("rules");
  const [language, setLanguage] = useState<ExampleLanguage>("python");
  const label = t("source.example");
  return (
    <Disclosure title={t("source.how")}>
      <div className={styles.form}>
        <p>{t("source.how_text")}</p>
        <div className={styles.filters}>
          <SelectField
            label={label}
            value={language}
            options={EXAMPLE_LANGUAGES.map((value) => ({ value, label: t(`source.language.${value}`) }))}
            onChange={({ target }) => setLanguage(target.value as ExampleLanguage)}
          />
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
        <section aria-label={label} tabIndex={0} className={styles.code}>
          <code>{signingExample(language, address)}</code>
        </section>
      </div>
    </Disclosure>
  );
}

/** Who the people and groups are that a source names, for sources that say who may read what. */
import { useContext, useState } from "react";
import { useTranslation } from "react-i18next";
import styles from "@/components/forms/Form.module.css";
import { FieldErrorContext } from "@/components/forms/fieldErrors";
import { Disclosure } from "@/components/overlays/Disclosure";
import { CONNECTOR_FORMS } from "./connectorForms";
import { SettingFields, type SettingProps } from "./SettingFields";

export function PermissionFields(props: SettingProps) {
  const { t } = useTranslation("knowledge");
  const refused = useContext(FieldErrorContext)?.field;
  const [open, setOpen] = useState(false);
  const fields = CONNECTOR_FORMS[props.connector].fields.filter(({ part }) => part === "permissions");
  if (fields.length === 0) return null;
  // What the server refuses is seen.
  const isRefused = fields.some(
    ({ name }) => refused === `settings.${name}` || refused?.startsWith(`settings.${name}.`),
  );
  return (
    <div className={styles.group}>
      <Disclosure title={t("source.permissions")} open={open || isRefused} onToggle={setOpen}>
        <div className={styles.form}>
          <SettingFields {...props} part="permissions" />
        </div>
      </Disclosure>
      <p className={styles.hint}>{t("source.permissions_hint")}</p>
    </div>
  );
}

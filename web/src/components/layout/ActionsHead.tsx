/** The head of a table's column of buttons: only screen readers need its name. */
import { useTranslation } from "react-i18next";
import styles from "./ActionsHead.module.css";

export function ActionsHead() {
  const { t } = useTranslation();
  return (
    <th scope="col" className={styles.head}>
      <span className="visually-hidden">{t("state.actions")}</span>
    </th>
  );
}

/** The settings that a measurement was made with. */
import { useTranslation } from "react-i18next";
import { Disclosure } from "@/components/overlays/Disclosure";
import styles from "./SettingsList.module.css";
import { flatSettings } from "./settingsDifference";
import { useSettingWords } from "./useSettingWords";

export function SettingsList({ settings }: { settings: Record<string, unknown> }) {
  const { t } = useTranslation("search");
  const words = useSettingWords();
  return (
    <Disclosure title={t("evaluation.settings")}>
      <dl className={styles.list}>
        {[...flatSettings(settings)].map(([name, value]) => (
          <div key={name}>
            <dt>{words.name(name)}</dt>
            <dd>{words.value(value)}</dd>
          </div>
        ))}
      </dl>
    </Disclosure>
  );
}

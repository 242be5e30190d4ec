/** The menu of the signed-in account: profile, language, colours, sign out. */
import { ChevronsUpDown, Contrast, Languages, LogOut, Moon, Sun, SunMoon } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAccount } from "@/api/account";
import { signOut } from "@/api/session";
import { Menu, type MenuEntry } from "@/components/overlays/Menu";
import { changeLanguage, currentLanguage, LANGUAGES, type Language } from "@/i18n";
import { applyTheme, currentTheme, THEMES } from "@/theme";
import styles from "./AccountMenu.module.css";

const THEME_ICONS = { system: SunMoon, light: Sun, dark: Moon, contrast: Contrast };

/** Entries that change language and colours; also shown on the page for signing in. */
export function useAppearanceEntries(): MenuEntry[] {
  const { t } = useTranslation();
  const [theme, setTheme] = useState(currentTheme);
  const others = (Object.keys(LANGUAGES) as Language[]).filter((language) => language !== currentLanguage());
  return [
    ...others.map((language) => ({
      label: LANGUAGES[language],
      icon: Languages,
      onSelect: () => void changeLanguage(language),
    })),
    ...THEMES.filter((each) => each !== theme).map((each) => ({
      label: t(`theme.${each}`),
      icon: THEME_ICONS[each],
      onSelect: () => {
        applyTheme(each);
        setTheme(each);
      },
    })),
  ];
}

export function AccountMenu() {
  const { t } = useTranslation();
  const account = useAccount();
  const appearance = useAppearanceEntries();
  return (
    <Menu
      trigger={
        <button type="button" className={styles.account}>
          <span className={styles.initial} aria-hidden>
            {account?.username.slice(0, 1).toUpperCase()}
          </span>
          <span className={styles.name}>{account?.username}</span>
          <span className="visually-hidden">{t("nav.account")}</span>
          <ChevronsUpDown size={16} aria-hidden />
        </button>
      }
      entries={[...appearance, { label: t("action.sign_out"), icon: LogOut, onSelect: () => void signOut() }]}
    />
  );
}

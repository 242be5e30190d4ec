/** The languages of the console; texts are in `en/` and `zh/`, one file for each area. */
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import type en from "./en";

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "common";
    resources: typeof en;
  }
}

export const LANGUAGES = { en: "English", zh: "中文" } as const;
export type Language = keyof typeof LANGUAGES;

const KEY = "agentex.language";
const LOADERS = { en: () => import("./en"), zh: () => import("./zh") };

function preferred(): Language {
  const kept = localStorage.getItem(KEY);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.languages
    .find((tag) => /^(en|zh)\b/i.test(tag))
    ?.toLowerCase()
    .startsWith("zh")
    ? "zh"
    : "en";
}

export function currentLanguage(): Language {
  return i18next.language === "zh" ? "zh" : "en";
}

export async function startTranslations(): Promise<void> {
  const language = preferred();
  const { default: texts } = await LOADERS[language]();
  await i18next.use(initReactI18next).init({
    lng: language,
    resources: { [language]: texts },
    defaultNS: "common",
    interpolation: { escapeValue: false },
    returnNull: false,
  });
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

export async function changeLanguage(language: Language): Promise<void> {
  const { default: texts } = await LOADERS[language]();
  for (const [area, entries] of Object.entries(texts)) i18next.addResourceBundle(language, area, entries);
  localStorage.setItem(KEY, language);
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  await i18next.changeLanguage(language);
}

/** Acts of the audit log in words. */
import { useTranslation } from "react-i18next";
import type en from "@/i18n/en";

type Names = (typeof en)["admin"]["audit"]["act"];
/** In keys of catalogues a dot separates levels. */
type Key = keyof Names & string;

export function useActName(): (action: string) => string {
  const { t, i18n } = useTranslation("admin");
  return (action) => {
    const key = action.replace(".", "_") as Key;
    return i18n.exists(`admin:audit.act.${key}`) ? t(`audit.act.${key}`) : action;
  };
}

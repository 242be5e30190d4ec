/** Permissions in words. */
import { useTranslation } from "react-i18next";
import type { Permission } from "@/api/account";
import type en from "@/i18n/en";

type Names = (typeof en)["admin"]["permission"];
/** In keys of catalogues a colon separates the namespace. */
type Key = keyof Names & string;

export function usePermissionName(): (permission: Permission | string) => string {
  const { t, i18n } = useTranslation("admin");
  return (permission) => {
    const key = permission.replace(":", "_") as Key;
    return i18n.exists(`admin:permission.${key}`) ? t(`permission.${key}`) : permission;
  };
}

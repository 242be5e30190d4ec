/** Acts of the audit log in words: what was done, on what kind of thing, and its details. */
import { useTranslation } from "react-i18next";
import type en from "@/i18n/en";
import { detailText } from "./auditDetails";
import { usePermissionName } from "./permissionNames";
import { useRoleName } from "./roleNames";

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

/** The kind of an object in words; a code that is not known stays. */
export function useKindName(): (kind: string) => string {
  const { t, i18n } = useTranslation("admin");
  return (kind) => {
    const key = `audit.kind.${kind}`;
    return kind && i18n.exists(`admin:${key}`) ? t(key as "audit.kind.user") : kind;
  };
}

type Details = Parameters<typeof detailText>[0];

/** The details of an act in words; names and codes that are not known stay. */
export function useDetailText(): (details: Details) => string {
  const { t, i18n } = useTranslation("admin");
  const permissionName = usePermissionName();
  const roleName = useRoleName();
  const known = (key: string, otherwise: string) => (i18n.exists(key) ? t(key as "audit.nothing") : otherwise);
  return (details) =>
    detailText(details, {
      name: (name) => known(`admin:audit.detail.${name}`, name),
      value: (name, value) => {
        if (typeof value === "boolean") return t(`setting.${value}`);
        const text = String(value);
        if (name === "role") return roleName({ name: text, display_name: "" });
        if (name === "connector") return known(`knowledge:source.kind.${text}`, text);
        return known(`admin:audit.value.${name}.${text}`, permissionName(text));
      },
      change: (before, after) => t("audit.changed", { before, after }),
      pair: (name, value) => t("audit.pair", { name, value }),
      nothing: t("audit.nothing"),
    });
}

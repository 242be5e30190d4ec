/** The names of roles: built-in ones in the person's language, others as they were named. */
import { useTranslation } from "react-i18next";

const BUILT_IN = ["admin", "developer", "user", "viewer"] as const;

export function useRoleName(): (role: { name: string; display_name: string }) => string {
  const { t } = useTranslation("admin");
  return ({ name, display_name }) => {
    const known = BUILT_IN.find((each) => each === name);
    return known ? t(`role.name.${known}`) : display_name || name;
  };
}

/** A choice among the roles; those that allow more than one's own can't be given. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useAccount } from "@/api/account";
import { SelectField } from "@/components/forms/Field";
import { useRoleName } from "./roleNames";
import { rolesQuery } from "./userQueries";

interface Props {
  value: string;
  onChange: (id: string) => void;
  /** What no choice is called; without it a role must be chosen. */
  usual?: string;
}

export function RoleSelect({ value, onChange, usual }: Props) {
  const { t } = useTranslation("admin");
  const roleName = useRoleName();
  const own = useAccount()?.permissions ?? [];
  const roles = useQuery(rolesQuery);
  return (
    <SelectField
      label={t("user.role")}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      options={[
        ...(usual ? [{ value: "", label: usual }] : []),
        ...(roles.data?.items ?? []).map((role) => ({
          value: role.id,
          label: roleName(role),
          disabled: role.id !== value && !role.permissions.every((permission) => own.includes(permission)),
        })),
      ]}
    />
  );
}

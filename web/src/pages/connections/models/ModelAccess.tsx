/** Who may use a model: everybody, or some roles. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call } from "@/api/client";
import { CheckboxField, SwitchField } from "@/components/Field";
import { Skeleton } from "@/components/Page";
import { useRoleName } from "@/pages/admin/roleNames";
import styles from "../Form.module.css";
import type { ModelDraft } from "./modelDraft";
import type { RegisteredModel } from "./modelQueries";

interface Props {
  draft: ModelDraft;
  change: (part: Partial<ModelDraft>) => void;
  model: RegisteredModel | null;
}

export function ModelAccess({ draft, change, model }: Props) {
  const { t } = useTranslation("connections");
  const people = model?.user_access?.length ?? 0;
  // Who may not see the roles can't choose among them.
  if (!useMay()("users:manage")) return null;
  return (
    <div className={styles.group}>
      <SwitchField
        label={t("model.limited")}
        hint={t("model.limited_hint")}
        checked={draft.roles !== null}
        onChange={(isLimited) => change({ roles: isLimited ? [] : null })}
      />
      {draft.roles !== null && <Roles chosen={draft.roles} onChange={(roles) => change({ roles })} />}
      {draft.roles !== null && people > 0 && <p className={styles.hint}>{t("model.people", { count: people })}</p>}
    </div>
  );
}

function Roles({ chosen, onChange }: { chosen: string[]; onChange: (ids: string[]) => void }) {
  const { t } = useTranslation("connections");
  const roleName = useRoleName();
  const roles = useQuery({ queryKey: ["roles"], queryFn: () => call(api.GET("/api/v1/admin/roles")) });
  if (!roles.data) return <Skeleton lines={2} />;
  return (
    <fieldset className={styles.group}>
      <legend>{t("model.roles")}</legend>
      <div className={styles.choices}>
        {roles.data.items.map((role) => (
          <CheckboxField
            key={role.id}
            label={roleName(role)}
            checked={chosen.includes(role.id)}
            onChange={(isOn) => onChange(isOn ? [...chosen, role.id] : chosen.filter((id) => id !== role.id))}
          />
        ))}
      </div>
    </fieldset>
  );
}

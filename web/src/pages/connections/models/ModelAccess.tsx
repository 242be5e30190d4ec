/** Who may use a model: everybody, or some roles and people. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button, IconButton } from "@/components/Button";
import { CheckboxField, SwitchField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { SearchField } from "@/components/forms/SearchField";
import { Skeleton } from "@/components/layout/Page";
import { useRoleName } from "@/pages/admin/roleNames";
import { rolesQuery, userQuery, usersQuery } from "@/pages/admin/userQueries";
import type { ModelDraft } from "./modelDraft";

interface Props {
  draft: ModelDraft;
  change: (part: Partial<ModelDraft>) => void;
}

export function ModelAccess({ draft, change }: Props) {
  const { t } = useTranslation("connections");
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
      {draft.roles !== null && (
        <>
          <Roles chosen={draft.roles} onChange={(roles) => change({ roles })} />
          <People chosen={draft.people} onChange={(people) => change({ people })} />
        </>
      )}
    </div>
  );
}

interface ChoiceProps {
  chosen: string[];
  onChange: (ids: string[]) => void;
}

function Roles({ chosen, onChange }: ChoiceProps) {
  const { t } = useTranslation("connections");
  const roleName = useRoleName();
  const roles = useQuery(rolesQuery);
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

function People({ chosen, onChange }: ChoiceProps) {
  const { t } = useTranslation("connections");
  const [q, setQ] = useState("");
  const listed = useQueries({ queries: chosen.map((id) => userQuery(id)) });
  const found = useQuery({ ...usersQuery({ q, status: "active" }), enabled: q !== "" });
  const others = (q ? (found.data?.items ?? []) : []).filter(({ id }) => !chosen.includes(id)).slice(0, 8);
  return (
    <fieldset className={styles.group}>
      <legend>{t("model.people")}</legend>
      {chosen.length > 0 && (
        <ul className={styles.chosen}>
          {chosen.map((id, place) => {
            // Somebody whose account is gone has no name any more.
            const name = listed[place]?.data?.username ?? id;
            return (
              <li key={id}>
                {name}
                <IconButton
                  icon={X}
                  size="s"
                  label={t("model.remove_person", { name })}
                  onClick={() => onChange(chosen.filter((each) => each !== id))}
                />
              </li>
            );
          })}
        </ul>
      )}
      <SearchField label={t("model.search_person")} value={q} onSearch={setQ} />
      {others.length > 0 && (
        <div className={styles.found}>
          {others.map(({ id, username }) => (
            <Button
              key={id}
              size="s"
              onClick={() => {
                onChange([...chosen, id]);
                setQ("");
              }}
            >
              {t("model.add_person", { name: username })}
            </Button>
          ))}
        </div>
      )}
      {q && found.data && others.length === 0 && <p className={styles.hint}>{t("model.no_person")}</p>}
    </fieldset>
  );
}

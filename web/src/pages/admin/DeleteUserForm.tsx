/** A dialog that deletes an account, after the question what becomes of what it owns. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { SelectField, TextField } from "@/components/forms/Field";
import { FormDialog } from "@/components/forms/FormDialog";
import { SearchField } from "@/components/forms/SearchField";
import { type User, useInvalidateUsers, usersQuery } from "./userQueries";

type Fate = "transfer" | "erase";

export function DeleteUserForm({ user, onClose }: { user: User; onClose: () => void }) {
  const { t } = useTranslation(["admin", "common"]);
  const [fate, setFate] = useState<Fate>("transfer");
  const [heir, setHeir] = useState("");
  const [typed, setTyped] = useState("");
  const invalidate = useInvalidateUsers();
  async function send() {
    const query = fate === "erase" ? { erase: true } : { transfer_to: heir };
    await call(api.DELETE("/api/v1/admin/users/{user_id}", { params: { path: { user_id: user.id }, query } }));
    await invalidate();
  }
  return (
    <FormDialog
      title={t("user.delete_title", { name: user.username })}
      description={t("user.delete_text")}
      action={t("common:action.delete")}
      danger
      done={t("user.deleted", { name: user.username })}
      disabled={typed !== user.username || (fate === "transfer" && !heir)}
      onSend={send}
      onClose={onClose}
    >
      <SelectField
        label={t("user.fate")}
        hint={t(`user.fate_${fate}_hint`)}
        value={fate}
        options={(["transfer", "erase"] as const).map((value) => ({ value, label: t(`user.fate_${value}`) }))}
        onChange={(event) => setFate(event.target.value as Fate)}
      />
      {fate === "transfer" && <HeirSelect leaver={user} heir={heir} onChange={setHeir} />}
      <TextField
        label={t("user.type_name", { name: user.username })}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        autoComplete="off"
        required
      />
    </FormDialog>
  );
}

function HeirSelect({ leaver, heir, onChange }: { leaver: User; heir: string; onChange: (id: string) => void }) {
  const { t } = useTranslation("admin");
  const [q, setQ] = useState("");
  const { data } = useQuery(usersQuery({ q: q || undefined, status: "active" }));
  const others = data?.items.filter(({ id }) => id !== leaver.id) ?? [];
  return (
    <>
      <SearchField label={t("user.search_heir")} value={q} onSearch={setQ} />
      <SelectField
        label={t("user.heir")}
        value={heir}
        options={[
          { value: "", label: t("user.choose") },
          ...others.map(({ id, username }) => ({ value: id, label: username })),
        ]}
        onChange={(event) => onChange(event.target.value)}
        required
      />
    </>
  );
}

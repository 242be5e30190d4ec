/** With whom a skill is shared. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { UserPlus, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { Button, IconButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { SelectField, TextField } from "@/components/forms/Field";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import { changeOfSkill, type SkillDetail } from "../skillQueries";
import styles from "./SkillSettings.module.css";

type Share = Schemas["ShareAnswer"];
type ShareBody = Schemas["ShareBody"];

export function SkillShares({ skill }: { skill: SkillDetail }) {
  const { t } = useTranslation(["skills", "common"]);
  const queries = useQueryClient();
  const queryKey = ["skill", skill.id, "shares"];
  const path = { skill_id: skill.id };
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: () => call(api.GET("/api/v1/skills/{skill_id}/shares", { params: { path } })),
  });
  const change = useMutation({
    scope: changeOfSkill(skill.id),
    mutationFn: (shares: ShareBody[]) =>
      call(
        api.PUT("/api/v1/skills/{skill_id}/shares", {
          params: { path },
          body: { shares, version: data?.version ?? null },
        }),
      ),
    onSuccess: async (shares) => {
      queries.setQueryData(queryKey, shares);
      notify(t("shares.changed"));
      await queries.invalidateQueries({ queryKey: ["skill", skill.id], exact: true });
    },
    onError: () => queries.invalidateQueries({ queryKey }),
  });
  const shares = (data?.items ?? []).map(bodyOf);
  return (
    <Section title={t("shares.title")}>
      <Card className={styles.card}>
        <p className={styles.note}>{t("shares.lead")}</p>
        {error && <ErrorNotice error={error} onRetry={() => refetch()} />}
        {!data && !error && <Skeleton lines={2} />}
        {data?.items.map((share, index) => (
          <ShareRow
            key={share.user?.id ?? share.role?.name}
            share={share}
            busy={change.isPending}
            onAccess={(access) => change.mutate(shares.with(index, { ...bodyOf(share), access }))}
            onRemove={() => change.mutate(shares.toSpliced(index, 1))}
          />
        ))}
        {data && <AddShare busy={change.isPending} onAdd={(share) => change.mutateAsync([...shares, share])} />}
        {change.error && <ErrorNotice error={change.error} />}
      </Card>
    </Section>
  );
}

function ShareRow({
  share,
  busy,
  onAccess,
  onRemove,
}: {
  share: Share;
  busy: boolean;
  onAccess: (access: "read" | "write") => void;
  onRemove: () => void;
}) {
  const { t } = useTranslation(["skills", "common"]);
  const name = share.user?.username ?? t("shares.role_name", { name: share.role?.display_name });
  return (
    <div className={styles.share}>
      <span className={styles.who}>{name}</span>
      <SelectField
        label={t("shares.access_of", { name })}
        hidesLabel
        value={share.access === "write" ? "write" : "read"}
        disabled={busy}
        options={[
          { value: "read", label: t("shares.read") },
          { value: "write", label: t("shares.write") },
        ]}
        onChange={(event) => onAccess(event.target.value === "write" ? "write" : "read")}
      />
      <IconButton icon={X} label={t("shares.remove", { name })} disabled={busy} onClick={onRemove} />
    </div>
  );
}

function AddShare({ busy, onAdd }: { busy: boolean; onAdd: (share: ShareBody) => Promise<unknown> }) {
  const { t } = useTranslation(["skills", "common"]);
  const [kind, setKind] = useState<"username" | "role">("username");
  const [name, setName] = useState("");
  async function add(event: FormEvent) {
    event.preventDefault();
    const share: ShareBody =
      kind === "role" ? { role: name.trim(), access: "read" } : { username: name.trim(), access: "read" };
    await onAdd(share).then(
      () => setName(""),
      // Told above; the name stays to be mended.
      () => undefined,
    );
  }
  return (
    <form className={styles.share} onSubmit={add}>
      <SelectField
        label={t("shares.kind")}
        value={kind}
        options={[
          { value: "username", label: t("shares.person") },
          { value: "role", label: t("shares.role") },
        ]}
        onChange={(event) => setKind(event.target.value === "role" ? "role" : "username")}
      />
      <div className={styles.who}>
        <TextField
          label={t(kind === "role" ? "shares.role" : "shares.username")}
          value={name}
          autoComplete="off"
          onChange={(event) => setName(event.target.value)}
        />
      </div>
      <Button type="submit" icon={UserPlus} busy={busy} disabled={!name.trim()}>
        {t("shares.add")}
      </Button>
    </form>
  );
}

function bodyOf({ user, role, access }: Share): ShareBody {
  const far = access === "write" ? "write" : "read";
  return user ? { user_id: user.id, access: far } : { role: role?.name ?? null, access: far };
}

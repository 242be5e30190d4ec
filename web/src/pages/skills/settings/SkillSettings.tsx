/** What the owner of a skill decides: its key, who gets it, and whether agents do. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { SwitchField, TextField } from "@/components/forms/Field";
import { Card, Section } from "@/components/layout/Page";
import { formatDateTime } from "@/i18n/format";
import { changeOfSkill, keepChanged, type LoadedSkill, loaded, skillQuery, useSkillId } from "../skillQueries";
import styles from "./SkillSettings.module.css";
import { SkillShares } from "./SkillShares";

type Changes = Pick<Schemas["SkillBody"], "slug" | "is_public" | "enabled">;

export function SkillSettings() {
  const { data } = useQuery(skillQuery(useSkillId()));
  return data?.skill.access === "owner" ? <Settings key={data.skill.id} data={data} /> : null;
}

function Settings({ data: { skill } }: { data: LoadedSkill }) {
  const { t } = useTranslation(["skills", "common"]);
  const queries = useQueryClient();
  const [slug, setSlug] = useState(skill.slug);
  const change = useMutation({
    scope: changeOfSkill(skill.id),
    mutationFn: (changes: Changes) => {
      // A change of shares just before has given the skill another ETag than the one on the page.
      const etag = queries.getQueryData(skillQuery(skill.id).queryKey)?.etag;
      return loaded(
        api.PUT("/api/v1/skills/{skill_id}", {
          // Without a read the change is made from whatever is there.
          params: { path: { skill_id: skill.id }, header: etag ? { "if-match": etag } : {} },
          body: { ...changes, change_note: "" },
        }),
      );
    },
    onSuccess: async (changed) => {
      await keepChanged(queries, changed);
      setSlug(changed.skill.slug);
      notify(t("settings.changed"));
    },
    onError: () => queries.invalidateQueries({ queryKey: ["skill", skill.id], exact: true }),
  });
  return (
    <div className={styles.settings}>
      {change.error && <ErrorNotice error={change.error} />}
      <Section title={t("settings.use")}>
        <Card className={styles.card}>
          <SwitchField
            label={t("settings.enabled")}
            hint={t("settings.enabled_hint")}
            checked={skill.enabled}
            disabled={change.isPending}
            onChange={(enabled) => change.mutate({ enabled })}
          />
          <SwitchField
            label={t("settings.public")}
            hint={t(skill.trusted && skill.publishable ? "settings.public_hint" : "settings.public_not_yet")}
            checked={skill.is_public}
            disabled={change.isPending || (!skill.is_public && !(skill.trusted && skill.publishable))}
            onChange={(is_public) => change.mutate({ is_public })}
          />
          <form
            className={styles.slug}
            onSubmit={(event) => {
              event.preventDefault();
              change.mutate({ slug: slug.trim() });
            }}
          >
            <TextField
              label={t("settings.slug")}
              hint={t("settings.slug_hint")}
              value={slug}
              maxLength={64}
              onChange={(event) => setSlug(event.target.value)}
            />
            <Button type="submit" busy={change.isPending} disabled={!slug.trim() || slug.trim() === skill.slug}>
              {t("common:action.save")}
            </Button>
          </form>
        </Card>
      </Section>
      <SkillShares skill={skill} />
      <Section title={t("settings.usage")}>
        <p className={styles.note}>
          {t("settings.usage_of", { ...skill.usage })}{" "}
          {skill.usage.last_used_at && t("settings.last_used", { when: formatDateTime(skill.usage.last_used_at) })}
        </p>
      </Section>
    </div>
  );
}

/** Name, description, who sees it, and whether it is searched. */
import type { FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import { SwitchField, TextAreaField, TextField } from "@/components/forms/Field";
import { FormError } from "@/components/forms/FormError";
import { useDraft } from "@/components/forms/useDraft";
import { Card, Section } from "@/components/layout/Page";
import styles from "../Form.module.css";
import { type KnowledgeBaseChange, useChangeBase } from "../knowledgeActions";
import type { KnowledgeBase } from "../queries";

export function GeneralSettings({ base, isOwner }: { base: KnowledgeBase; isOwner: boolean }) {
  const { t } = useTranslation("knowledge");
  const change = useChangeBase(base.id);
  const onError = useErrorToast();
  const toggle = (part: KnowledgeBaseChange) => change.mutate(part, { onError });
  return (
    <Section title={t("settings.general")}>
      <Card className={styles.form}>
        <NameForm base={base} />
        <SwitchField
          label={t("field.enabled")}
          hint={t("field.enabled_hint")}
          checked={base.enabled}
          disabled={change.isPending}
          onChange={(enabled) => toggle({ enabled })}
        />
        {isOwner && (
          <SwitchField
            label={t("field.public")}
            hint={t("field.public_hint")}
            checked={base.is_public}
            disabled={change.isPending}
            onChange={(is_public) => toggle({ is_public })}
          />
        )}
      </Card>
    </Section>
  );
}

function NameForm({ base }: { base: KnowledgeBase }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const change = useChangeBase(base.id);
  const {
    draft,
    change: edit,
    forget,
  } = useDraft<{ name?: string; description?: string }>(`knowledge-base.${base.id}`, {});
  const name = draft.name ?? base.name;
  const description = draft.description ?? base.description;
  const isChanged = name !== base.name || description !== base.description;
  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate(
      { name: name.trim(), description },
      {
        onSuccess: () => {
          edit({ name: undefined, description: undefined });
          forget();
          notify(t("common:state.saved"));
        },
      },
    );
  }
  return (
    <form className={styles.form} onSubmit={submit}>
      <TextField
        label={t("field.name")}
        value={name}
        required
        maxLength={200}
        onChange={(event) => edit({ name: event.target.value })}
      />
      <TextAreaField
        label={t("field.description")}
        hint={t("field.description_hint")}
        rows={3}
        maxLength={10000}
        value={description}
        onChange={(event) => edit({ description: event.target.value })}
      />
      {change.isError && <FormError error={change.error} />}
      <div className={styles.actions}>
        <Button type="submit" variant="primary" busy={change.isPending} disabled={!isChanged || !name.trim()}>
          {t("common:action.save")}
        </Button>
      </div>
    </form>
  );
}

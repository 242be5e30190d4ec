/** A new skill: from a template, an empty page, or what was written here before. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Save, Undo2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/ErrorNotice";
import { Page } from "@/components/Page";
import { notify } from "@/components/toasts";
import { LANGUAGES } from "@/i18n";
import { readDraft, usePersistentDraft, writeDraft } from "../editor/drafts";
import { Workbench } from "../editor/Workbench";
import { keepChanged, loaded } from "../skillQueries";
import styles from "./NewSkill.module.css";
import { TEMPLATES, type TemplateKind, type TemplateLanguage } from "./templates";

const route = getRouteApi("/shell/skills/new");
const DRAFT = "new";

export function NewSkill() {
  const { t } = useTranslation(["skills", "common"]);
  const [text, setText] = useState<string | null>(() => readDraft(DRAFT)?.text ?? null);
  usePersistentDraft(DRAFT, text, 0);
  return (
    <Page wide={text !== null} title={t("new.title")} lead={t(text === null ? "new.lead" : "new.lead_editor")}>
      {text === null ? <TemplateChoice onChoose={setText} /> : <FirstVersion text={text} onText={setText} />}
    </Page>
  );
}

function TemplateChoice({ onChoose }: { onChoose: (text: string) => void }) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <div className={styles.templates}>
      {(Object.keys(TEMPLATES) as TemplateKind[]).map((kind) => (
        <section key={kind} className={styles.template}>
          <h2>{t(`new.template.${kind}`)}</h2>
          <p>{t(`new.template.${kind}_what`)}</p>
          <div className={styles.languages}>
            {(Object.keys(LANGUAGES) as TemplateLanguage[]).map((language) => (
              <Button key={language} onClick={() => onChoose(TEMPLATES[kind][language])}>
                {t(`new.language.${language}`)}
              </Button>
            ))}
          </div>
        </section>
      ))}
    </div>
  );
}

function FirstVersion({ text, onText }: { text: string; onText: (text: string | null) => void }) {
  const { t } = useTranslation(["skills", "common"]);
  const { side } = route.useSearch();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const creating = useMutation({
    mutationFn: (content: string) => loaded(api.POST("/api/v1/skills", { body: { content, change_note: "" } })),
    onSuccess: async (made) => {
      onText(null);
      writeDraft(DRAFT, null);
      await keepChanged(queries, made);
      notify(t("new.created", { name: made.skill.name }));
      await navigate({ to: "/skills/$skillId", params: { skillId: made.skill.id } });
    },
  });
  return (
    <>
      {creating.error && <ErrorNotice error={creating.error} />}
      <Workbench
        text={text}
        onText={onText}
        onSave={(content) => creating.mutate(content)}
        skillId={null}
        readOnly={false}
        side={side}
        sideLinks={
          <>
            <Link from="/skills/new" to="." search={{}} replace aria-current={side ? undefined : "true"}>
              {t("editor.form")}
            </Link>
            <Link
              from="/skills/new"
              to="."
              search={{ side: "preview" }}
              replace
              aria-current={side ? "true" : undefined}
            >
              {t("editor.preview")}
            </Link>
          </>
        }
        toolbar={(save) => (
          <>
            <Button variant="primary" icon={Save} busy={creating.isPending} onClick={save}>
              {t("new.create")}
            </Button>
            <Button icon={Undo2} onClick={() => onText(null)}>
              {t("new.again")}
            </Button>
          </>
        )}
      />
    </>
  );
}

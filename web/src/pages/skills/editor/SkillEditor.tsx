/** The tab in which a skill is written, or read by who may not write it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Save, Undo2 } from "lucide-react";
import { useCallback, useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { ApiError } from "@/api/errors";
import { Badge } from "@/components/Badge";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/ErrorNotice";
import { TextField } from "@/components/Field";
import { Notice } from "@/components/Notice";
import { Skeleton } from "@/components/Page";
import { notify } from "@/components/toasts";
import { formatRelative } from "@/i18n/format";
import { keepChanged, loaded, type SkillDetail, skillQuery, useSkillId } from "../skillQueries";
import { ConflictDialog } from "./ConflictDialog";
import { type Draft, readDraft, usePersistentDraft, writeDraft } from "./drafts";
import styles from "./SkillEditor.module.css";
import { Workbench } from "./Workbench";

const route = getRouteApi("/shell/skills/$skillId/");
const CHANGED_MEANWHILE = 40961;

export function SkillEditor() {
  const id = useSkillId();
  const { data } = useQuery(skillQuery(id));
  // One skill's text never goes into another one's editor.
  return data ? <Editor key={id} skill={data.skill} /> : <Skeleton lines={12} />;
}

/** What the person's text began from. */
interface Base {
  version: number;
  content: string;
}

function Editor({ skill }: { skill: SkillDetail }) {
  const { t } = useTranslation(["skills", "common"]);
  const { side } = route.useSearch();
  const [restored, setRestored] = useState(() => usableDraft(skill));
  const [base, setBase] = useState<Base>(() => ({
    version: restored?.version ?? skill.version,
    content: skill.content,
  }));
  const [text, setText] = useState(restored?.text ?? skill.content);
  const [note, setNote] = useState("");
  const [conflict, setConflict] = useState(false);
  const isDirty = text !== base.content;
  usePersistentDraft(skill.id, isDirty ? text : null, base.version);

  // Somebody else saved while nothing was written here: their text is shown.
  if (!isDirty && skill.version > base.version) {
    setBase({ version: skill.version, content: skill.content });
    setText(skill.content);
  }
  const takeNewest = useCallback(() => {
    writeDraft(skill.id, null);
    setBase({ version: skill.version, content: skill.content });
    setText(skill.content);
    setRestored(null);
  }, [skill.id, skill.version, skill.content]);

  const saving = useSaving(skill, {
    onSaved: (saved, sent) => {
      setBase({ version: saved.version, content: saved.content });
      setText((now) => (now === sent ? saved.content : now));
      setNote("");
      setRestored(null);
      setConflict(false);
    },
    onConflict: () => setConflict(true),
  });
  const isBehind = isDirty && skill.version > base.version;
  return (
    <div className={styles.editor}>
      {restored && isDirty && (
        <Notice
          action={
            <Button size="s" icon={Undo2} onClick={takeNewest}>
              {t("draft.discard")}
            </Button>
          }
        >
          <p>{t("draft.restored", { when: formatRelative(restored.at) })}</p>
        </Notice>
      )}
      {isBehind && (
        <Notice
          tone="warning"
          action={
            <Button size="s" onClick={() => setConflict(true)}>
              {t("conflict.compare")}
            </Button>
          }
        >
          <p>{t("conflict.notice", { number: skill.version, base: base.version })}</p>
        </Notice>
      )}
      {saving.error && !isConflict(saving.error) && <ErrorNotice error={saving.error} />}
      <Workbench
        text={text}
        onText={setText}
        onSave={(content) => content !== base.content && saving.mutate({ content, note, version: base.version })}
        skillId={skill.id}
        readOnly={!skill.can_write}
        side={side}
        sideLinks={<SideLinks />}
        toolbar={(save) => (
          <>
            <Button variant="primary" icon={Save} busy={saving.isPending} disabled={!isDirty} onClick={save}>
              {t("editor.save")}
            </Button>
            <div className={styles.note}>
              <TextField
                label={<span className="visually-hidden">{t("editor.note")}</span>}
                placeholder={t("editor.note")}
                value={note}
                maxLength={500}
                onChange={(event) => setNote(event.target.value)}
              />
            </div>
            <span role="status">
              {isDirty ? (
                <Badge tone="warning">{t("draft.unsaved")}</Badge>
              ) : (
                <Badge>{t("draft.saved", { number: base.version })}</Badge>
              )}
            </span>
          </>
        )}
      />
      {conflict && (
        <ConflictDialog
          theirs={skill}
          text={text}
          busy={saving.isPending}
          onTake={() => {
            takeNewest();
            setConflict(false);
          }}
          onKeep={() => saving.mutate({ content: text, note, version: skill.version })}
          onClose={() => setConflict(false)}
        />
      )}
    </div>
  );
}

function SideLinks() {
  const { t } = useTranslation(["skills", "common"]);
  const { side } = route.useSearch();
  return (
    <>
      <Link from="/skills/$skillId/" to="." search={{}} replace aria-current={side ? undefined : "true"}>
        {t("editor.form")}
      </Link>
      <Link
        from="/skills/$skillId/"
        to="."
        search={{ side: "preview" }}
        replace
        aria-current={side ? "true" : undefined}
      >
        {t("editor.preview")}
      </Link>
    </>
  );
}

function useSaving(
  skill: SkillDetail,
  { onSaved, onConflict }: { onSaved: (saved: SkillDetail, sent: string) => void; onConflict: () => void },
) {
  const { t } = useTranslation(["skills", "common"]);
  const queries = useQueryClient();
  return useMutation({
    // The version alone: a change of settings meanwhile is no conflict of texts.
    mutationFn: ({ content, note, version }: { content: string; note: string; version: number }) =>
      loaded(
        api.PUT("/api/v1/skills/{skill_id}", {
          params: { path: { skill_id: skill.id } },
          body: { content, change_note: note, base_version: version },
        }),
      ),
    onSuccess: async (changed, { content }) => {
      onSaved(changed.skill, content);
      notify(t("editor.saved", { number: changed.skill.version }));
      await keepChanged(queries, changed);
    },
    onError: async (error) => {
      if (!isConflict(error)) return;
      await queries.invalidateQueries({ queryKey: ["skill", skill.id] });
      onConflict();
    },
  });
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.code === CHANGED_MEANWHILE;
}

function usableDraft(skill: SkillDetail): Draft | null {
  const draft = skill.can_write ? readDraft(skill.id) : null;
  return draft && draft.text !== skill.content ? draft : null;
}

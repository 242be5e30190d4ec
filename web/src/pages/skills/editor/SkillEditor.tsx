/** The tab in which a skill is written, or read by who may not write it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Save, Undo2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { ApiError } from "@/api/errors";
import { Button } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { notify } from "@/components/feedback/toasts";
import { TextField } from "@/components/forms/Field";
import { Skeleton } from "@/components/layout/Page";
import { formatRelative } from "@/i18n/format";
import { keepChanged, loaded, type SkillDetail, skillQuery, useSkillId } from "../skillQueries";
import { ConflictDialog } from "./ConflictDialog";
import { LeaveGuard } from "./LeaveGuard";
import styles from "./SkillEditor.module.css";
import { type EditedText, useEditedText } from "./useEditedText";
import { Workbench } from "./Workbench";

const route = getRouteApi("/shell/skills/$skillId/");
const CHANGED_MEANWHILE = 40961;

export function SkillEditor() {
  const id = useSkillId();
  const { data } = useQuery(skillQuery(id));
  // One skill's text never goes into another one's editor.
  return data ? <Editor key={id} skill={data.skill} /> : <Skeleton lines={12} />;
}

function Editor({ skill }: { skill: SkillDetail }) {
  const { t } = useTranslation(["skills", "common"]);
  const { side } = route.useSearch();
  const edited = useEditedText(skill);
  const { text, base, isDirty } = edited;
  const [note, setNote] = useState("");
  const [conflict, setConflict] = useState(false);
  const saving = useSaving(skill, {
    onSaved: (saved, sent) => {
      edited.takeSaved(saved, sent);
      setNote("");
      setConflict(false);
    },
    onConflict: () => setConflict(true),
  });
  function decide(own?: string) {
    edited.takeNewest(own);
    setConflict(false);
  }
  return (
    <div className={styles.editor}>
      <LeaveGuard isDirty={isDirty} within={`/skills/${skill.id}`} draft={skill.id} />
      <EditorNotices edited={edited} version={skill.version} onCompare={() => setConflict(true)} />
      {saving.error && !isConflict(saving.error) && <ErrorNotice error={saving.error} />}
      <Workbench
        text={text}
        onText={edited.setText}
        onSave={(content) => {
          if (content === base.content) notify(t("editor.nothing_new", { number: base.version }));
          else if (!saving.isPending) saving.mutate({ content, note, version: base.version });
        }}
        skillId={skill.id}
        readOnly={!skill.can_write}
        from="/skills/$skillId/"
        side={side}
        toolbar={(save) => (
          <SaveBar
            busy={saving.isPending}
            onSave={save}
            {...{ isDirty, note }}
            onNote={setNote}
            version={base.version}
          />
        )}
      />
      {conflict && (
        <ConflictDialog
          theirs={skill}
          text={text}
          busy={saving.isPending}
          onTake={() => decide()}
          onMerge={decide}
          onKeep={(content) => {
            edited.takeNewest(content);
            saving.mutate({ content, note, version: skill.version });
          }}
          onClose={() => setConflict(false)}
        />
      )}
    </div>
  );
}

interface NoticesProps {
  edited: EditedText;
  /** The newest saved version. */
  version: number;
  onCompare: () => void;
}

/** What the person should know of the text before writing on. */
function EditorNotices({ edited: { restored, isBehind, base, takeNewest }, version, onCompare }: NoticesProps) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <>
      {restored && (
        <Notice
          action={
            <Button size="s" icon={Undo2} onClick={() => takeNewest()}>
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
            <Button size="s" onClick={onCompare}>
              {t("conflict.compare")}
            </Button>
          }
        >
          <p>{t("conflict.notice", { number: version, base: base.version })}</p>
        </Notice>
      )}
    </>
  );
}

interface SaveBarProps {
  busy: boolean;
  isDirty: boolean;
  note: string;
  version: number;
  onNote: (note: string) => void;
  onSave: () => void;
}

function SaveBar({ busy, isDirty, note, version, onNote, onSave }: SaveBarProps) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <>
      <Button
        variant="primary"
        icon={Save}
        busy={busy}
        onClick={onSave}
        title={t("editor.save_keys")}
        aria-keyshortcuts="Control+S Meta+S"
      >
        {t("editor.save")}
      </Button>
      <div className={styles.note}>
        <TextField
          label={t("editor.note")}
          hidesLabel
          placeholder={t("editor.note")}
          value={note}
          maxLength={500}
          onChange={(event) => onNote(event.target.value)}
        />
      </div>
      <span role="status">
        {isDirty ? (
          <Badge tone="warning">{t("draft.unsaved")}</Badge>
        ) : (
          <Badge>{t("draft.saved", { number: version })}</Badge>
        )}
      </span>
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

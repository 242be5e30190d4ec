/** The text of a passage in a form. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "@/api/errors";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { notify } from "@/components/feedback/toasts";
import { TextAreaField } from "@/components/forms/Field";
import type { DocumentChunk } from "../passages";
import type { ChunkDraft } from "../useDrafts";
import styles from "./ChunkList.module.css";
import { useChunkChange, useFreshChunk } from "./useChunkChange";

const CHANGED_MEANWHILE = 40901;

interface Props {
  chunk: DocumentChunk;
  draft: ChunkDraft;
  onDraft: (draft: ChunkDraft | null) => void;
}

export function ChunkEditor({ chunk, draft, onDraft }: Props) {
  const { t } = useTranslation(["documents", "common"]);
  const change = useChunkChange(chunk);
  const fresh = useFreshChunk(chunk);
  const [theirs, setTheirs] = useState<DocumentChunk | null>(null);

  async function save(version: number) {
    try {
      await change.mutateAsync({ version, content: draft.content });
      onDraft(null);
      notify(t("chunk.saved"));
    } catch (error) {
      if (error instanceof ApiError && error.code === CHANGED_MEANWHILE)
        setTheirs(await fresh.mutateAsync().catch(() => null));
    }
  }

  const isConflict = change.error instanceof ApiError && change.error.code === CHANGED_MEANWHILE && theirs !== null;
  return (
    <form
      className={styles.editor}
      onSubmit={(event) => {
        event.preventDefault();
        void save(draft.version);
      }}
    >
      <TextAreaField
        label={t("chunk.text")}
        hint={t("chunk.edit_hint")}
        rows={Math.min(16, Math.max(5, Math.ceil(draft.content.length / 60)))}
        value={draft.content}
        // The person pressed "Edit" to write here.
        autoFocus
        onChange={(event) => onDraft({ ...draft, content: event.target.value })}
      />
      {isConflict && theirs ? (
        <Conflict theirs={theirs} onTake={() => onDraft(null)} onKeep={() => void save(theirs.version)} />
      ) : (
        change.error !== null && <ErrorNotice error={change.error} />
      )}
      <div className={styles.actions}>
        <Button size="s" onClick={() => onDraft(null)}>
          {t("common:action.cancel")}
        </Button>
        {!isConflict && (
          <Button
            size="s"
            type="submit"
            variant="primary"
            busy={change.isPending}
            disabled={!draft.content.trim() || draft.content === chunk.content}
          >
            {t("common:action.save")}
          </Button>
        )}
      </div>
    </form>
  );
}

function Conflict({ theirs, onTake, onKeep }: { theirs: DocumentChunk; onTake: () => void; onKeep: () => void }) {
  const { t } = useTranslation("documents");
  return (
    <Notice tone="warning">
      <div role="alert" className={styles.conflict}>
        <p>{t("chunk.conflict")}</p>
        <blockquote>{theirs.content}</blockquote>
        <div className={styles.actions}>
          <Button size="s" onClick={onTake}>
            {t("chunk.take_theirs")}
          </Button>
          <Button size="s" onClick={onKeep}>
            {t("chunk.keep_mine")}
          </Button>
        </div>
      </div>
    </Notice>
  );
}

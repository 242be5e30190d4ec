/** The text of a saved skill while it is edited: what it began from, the draft that is kept, what was saved meanwhile. */
import { useCallback, useState } from "react";
import type { SkillDetail } from "../skillQueries";
import { readDraft, type SkillDraft, usePersistentDraft, writeDraft } from "./drafts";

/** What the person's text began from. */
interface Base {
  version: number;
  content: string;
}

export function useEditedText(skill: SkillDetail) {
  const [restored, setRestored] = useState(() => usableDraft(skill));
  const [base, setBase] = useState<Base>(() => ({
    version: restored?.version ?? skill.version,
    content: skill.content,
  }));
  const [text, setText] = useState(restored?.text ?? skill.content);
  const isDirty = text !== base.content;
  usePersistentDraft(skill.id, isDirty ? text : null, base.version);

  // Somebody else saved while nothing was written here: their text is shown.
  if (!isDirty && skill.version > base.version) {
    setBase({ version: skill.version, content: skill.content });
    setText(skill.content);
  }
  /** Go on from the saved version, with a text of one's own or with what was saved. */
  const takeNewest = useCallback(
    (own?: string) => {
      if (own === undefined) writeDraft(skill.id, null);
      setBase({ version: skill.version, content: skill.content });
      setText(own ?? skill.content);
      setRestored(null);
    },
    [skill.id, skill.version, skill.content],
  );
  /** After a text was saved: what was typed since then stays. */
  const takeSaved = useCallback((saved: SkillDetail, sent: string) => {
    setBase({ version: saved.version, content: saved.content });
    setText((now) => (now === sent ? saved.content : now));
    setRestored(null);
  }, []);
  return {
    text,
    setText,
    base,
    isDirty,
    /** Whether a newer version was saved since the text was begun. */
    isBehind: isDirty && skill.version > base.version,
    restored: isDirty ? restored : null,
    takeNewest,
    takeSaved,
  };
}

export type EditedText = ReturnType<typeof useEditedText>;

function usableDraft(skill: SkillDetail): SkillDraft | null {
  const draft = skill.can_write ? readDraft(skill.id) : null;
  return draft && draft.text !== skill.content ? draft : null;
}

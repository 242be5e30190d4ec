/** A question, which can be asked in other words, and the way to those that were asked in its place. */
import { ChevronLeft, ChevronRight, FileText, Pencil, RotateCcw } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import type { ShownAttachment } from "../composer/attachments";
import type { Direction } from "../conversations/branchPlace";
import styles from "./Question.module.css";
import { type Alternative, type QuestionActions, useQuestionActions } from "./questionActions";

interface QuestionProps {
  id: string;
  text: string;
  attachments: readonly ShownAttachment[] | undefined;
  /** Which of its arrows led here. */
  arrivedBy: Direction | null;
}

export function Question({ id, text, attachments, arrivedBy }: QuestionProps) {
  const { t } = useTranslation("chat");
  const actions = useQuestionActions();
  const [editing, setEditing] = useState(false);
  const pencil = useRef<HTMLButtonElement>(null);
  const alternatives = actions?.points.get(id);
  function endEditing() {
    setEditing(false);
    requestAnimationFrame(() => pencil.current?.focus());
  }
  return (
    <div className={styles.question}>
      <h2 className="visually-hidden">{t("message.question")}</h2>
      {editing && actions ? (
        <Editor text={text} onCancel={endEditing} onSend={(next) => actions.branch(id, next)} />
      ) : (
        <div className={styles.bubble}>
          {attachments && attachments.length > 0 && <Attached attachments={attachments} />}
          <p dir="auto">{text}</p>
        </div>
      )}
      {actions && !editing && (
        <div className={styles.bar}>
          {actions.mayAsk && (
            <Buttons id={id} text={text} actions={actions} pencil={pencil} onEdit={() => setEditing(true)} />
          )}
          {alternatives && <Arrows id={id} alternatives={alternatives} actions={actions} arrivedBy={arrivedBy} />}
        </div>
      )}
    </div>
  );
}

function Attached({ attachments }: { attachments: readonly ShownAttachment[] }) {
  const { t } = useTranslation("chat");
  return (
    <ul className={styles.attached}>
      {attachments.map(({ name, url }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they never change
        <li key={index}>
          {url ? (
            <a href={url} target="_blank" rel="noopener noreferrer">
              <img src={url} alt={name || t("message.picture")} />
            </a>
          ) : (
            <span className={styles.file}>
              <FileText size={14} aria-hidden />
              {name}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

interface ButtonsProps {
  id: string;
  text: string;
  actions: QuestionActions;
  pencil: React.RefObject<HTMLButtonElement | null>;
  onEdit: () => void;
}

function Buttons({ id, text, actions, pencil, onEdit }: ButtonsProps) {
  const { t } = useTranslation("chat");
  const [busy, setBusy] = useState(false);
  function askAgain() {
    setBusy(true);
    void actions.branch(id, text).finally(() => setBusy(false));
  }
  return (
    <div className={styles.actions}>
      <IconButton size="s" icon={RotateCcw} label={t("message.ask_again")} busy={busy} onClick={askAgain} />
      <IconButton ref={pencil} size="s" icon={Pencil} label={t("message.edit")} onClick={onEdit} />
    </div>
  );
}

interface ArrowsProps {
  id: string;
  alternatives: readonly Alternative[];
  actions: QuestionActions;
  arrivedBy: Direction | null;
}

function Arrows({ id, alternatives, actions, arrivedBy }: ArrowsProps) {
  const { t } = useTranslation("chat");
  const frame = useRef<HTMLFieldSetElement>(null);
  const [busy, setBusy] = useState(false);
  const place = alternatives.findIndex(({ message_id: messageId }) => messageId === id);
  // Who goes by keyboard goes on from where they were.
  useEffect(() => {
    if (!arrivedBy) return;
    const arrows = [...(frame.current?.querySelectorAll("button") ?? [])];
    const usedArrow = arrows[arrivedBy === "previous" ? 0 : 1];
    (usedArrow?.disabled ? arrows.find(({ disabled }) => !disabled) : usedArrow)?.focus({ preventScroll: true });
  }, [arrivedBy]);
  const arrow = (direction: Direction) => {
    const target = alternatives[place + (direction === "previous" ? -1 : 1)];
    return (
      <IconButton
        size="s"
        icon={direction === "previous" ? ChevronLeft : ChevronRight}
        label={t(direction === "previous" ? "message.previous_branch" : "message.next_branch")}
        disabled={!target || busy}
        onClick={() => {
          if (!target || !frame.current) return;
          setBusy(true);
          void actions.go(target, direction, frame.current).finally(() => setBusy(false));
        }}
      />
    );
  };
  const count = alternatives.length;
  return (
    <fieldset ref={frame} className={styles.arrows}>
      <legend className="visually-hidden">{t("message.branches")}</legend>
      {arrow("previous")}
      <span aria-hidden>
        {place + 1} / {count}
      </span>
      <span className="visually-hidden">{t("message.branch", { place: place + 1, count })}</span>
      {arrow("next")}
    </fieldset>
  );
}

interface EditorProps {
  text: string;
  onCancel: () => void;
  onSend: (text: string) => Promise<void>;
}

function Editor({ text, onCancel, onSend }: EditorProps) {
  const { t } = useTranslation(["chat", "common"]);
  const [draft, setDraft] = useState(text);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const canSend = draft.trim() !== "" && !busy;
  useEffect(() => {
    const { current } = field;
    current?.focus();
    current?.setSelectionRange(current.value.length, current.value.length);
  }, []);
  function send(event?: FormEvent) {
    event?.preventDefault();
    if (!canSend) return;
    setBusy(true);
    void onSend(draft.trim()).finally(() => setBusy(false));
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === "Escape") onCancel();
    // Enter also ends a word of an input method.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  }
  return (
    <form className={styles.editor} onSubmit={send}>
      <textarea
        ref={field}
        dir="auto"
        rows={2}
        value={draft}
        aria-label={t("message.edited")}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <p>{t("message.edit_hint")}</p>
      <div className={styles.editorButtons}>
        <Button size="s" onClick={onCancel}>
          {t("common:action.cancel")}
        </Button>
        <Button size="s" variant="primary" type="submit" busy={busy} disabled={!canSend}>
          {t("message.ask_edited")}
        </Button>
      </div>
    </form>
  );
}

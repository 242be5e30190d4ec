/** The field for questions, with what is attached to them. */
import { ArrowUp, FileText, Paperclip, Square, X } from "lucide-react";
import { type ClipboardEvent, type DragEvent, type FormEvent, type KeyboardEvent, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "@/components/Button";
import type { Attachment } from "./attachments";
import styles from "./Composer.module.css";
import { useAttachments } from "./useAttachments";

export interface ComposerProps {
  text: string;
  onText: (text: string) => void;
  attached: readonly Attachment[];
  onAttached: (attached: readonly Attachment[]) => void;
  onSend: (text: string, attachments: readonly Attachment[]) => void;
  /** Set while an agent is at work. */
  onStop?: (() => void) | undefined;
  stopping?: boolean;
  /** Why nothing can be asked now. */
  blocked?: string | undefined;
  busy?: boolean;
}

export function Composer({ text, onText, attached, onAttached, onSend, onStop, ...state }: ComposerProps) {
  const { t } = useTranslation("chat");
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const { add, accept } = useAttachments(attached, onAttached);
  const { blocked, busy, stopping } = state;
  const canSend = text.trim() !== "" && !onStop && !blocked && !busy;
  useEffect(() => {
    // Who came by the arrows of a question goes on from there.
    if (document.activeElement?.closest("[role=log]")) return;
    // On a phone the keyboard would cover what is there to read.
    if (window.matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  function send(event?: FormEvent) {
    event?.preventDefault();
    if (canSend) onSend(text.trim(), attached);
  }
  function onKeyDown(event: KeyboardEvent) {
    // Enter also ends a word of an input method.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  }
  function onPaste(event: ClipboardEvent) {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    void add(files);
  }
  function onDrop(event: DragEvent) {
    event.preventDefault();
    void add([...event.dataTransfer.files]);
  }
  return (
    <form className={styles.composer} onSubmit={send} onDrop={onDrop} onDragOver={(event) => event.preventDefault()}>
      <Attached attached={attached} onRemove={(id) => onAttached(attached.filter((one) => one.id !== id))} />
      <textarea
        ref={field}
        rows={1}
        value={text}
        aria-label={t("composer.label")}
        placeholder={blocked ?? t("composer.placeholder")}
        className={styles.field}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div className={styles.bar}>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          accept={accept}
          onChange={(event) => {
            void add([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        <IconButton icon={Paperclip} label={t("composer.attach")} onClick={() => picker.current?.click()} />
        <p className={styles.hint}>{t("composer.hint")}</p>
        {onStop ? (
          <IconButton icon={Square} variant="secondary" label={t("composer.stop")} busy={stopping} onClick={onStop} />
        ) : (
          <IconButton
            icon={ArrowUp}
            variant="primary"
            label={t("composer.send")}
            type="submit"
            busy={busy}
            disabled={!canSend}
          />
        )}
      </div>
    </form>
  );
}

function Attached({ attached, onRemove }: { attached: readonly Attachment[]; onRemove: (id: string) => void }) {
  const { t } = useTranslation("chat");
  if (attached.length === 0) return null;
  return (
    <ul className={styles.attached}>
      {attached.map(({ id, name, preview }) => (
        <li key={id}>
          {preview ? <img src={preview} alt="" /> : <FileText size={16} aria-hidden />}
          <span>{name}</span>
          <IconButton size="s" icon={X} label={t("composer.remove", { name })} onClick={() => onRemove(id)} />
        </li>
      ))}
    </ul>
  );
}

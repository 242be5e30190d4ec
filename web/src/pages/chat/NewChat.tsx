/** A new conversation: its question, and what is chosen for it. */
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { History, SlidersHorizontal } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { useTitle } from "@/components/layout/Page";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import type { Attachment } from "./composer/attachments";
import { ChoiceFields, useChoiceSummary } from "./composer/ChoiceFields";
import { Composer } from "./composer/Composer";
import type { Choices } from "./composer/choices";
import { useComposerDraft } from "./composer/useComposerDraft";
import type { Question } from "./conversations/conversation";
import { keepChoices, lastChoices, startConversation } from "./conversations/start";
import type { AgentType } from "./message/toolNames";
import styles from "./NewChat.module.css";
import { OfflineNotice } from "./OfflineNotice";
import { useShowList } from "./showList";

export function NewChat() {
  const { t } = useTranslation(["chat", "common"]);
  useTitle(t("common:nav.chat"));
  const showList = useShowList();
  const navigate = useNavigate();
  const [text, setText] = useComposerDraft("new");
  const [attached, setAttached] = useState<readonly Attachment[]>([]);
  const [choices, setChoices] = useState(lastChoices);
  function choose(next: Choices) {
    setChoices(next);
    keepChoices(next);
  }
  const begin = useMutation({
    mutationFn: (question: Question) => startConversation(question, choices),
    onSuccess: (threadId) => {
      setText("");
      return navigate({ to: "/chat/$threadId", params: { threadId } });
    },
  });
  return (
    <div className={styles.page}>
      <IconButton icon={History} label={t("list.label")} className={styles.showList} onClick={showList} />
      <div className={styles.middle}>
        <h1>{t("new.title")}</h1>
        <OfflineNotice />
        {begin.isError && <ErrorNotice error={begin.error} />}
        <Composer
          text={text}
          onText={setText}
          attached={attached}
          onAttached={setAttached}
          busy={begin.isPending}
          onSend={(asked, attachments) => begin.mutate({ text: asked, attachments })}
        />
        <ChoiceBar choices={choices} onChange={choose} />
        <Suggestions
          onPick={(type, words) => {
            choose({ ...choices, agentType: type });
            setText(words);
          }}
        />
      </div>
    </div>
  );
}

interface ChoiceBarProps {
  choices: Choices;
  onChange: (choices: Choices) => void;
}

function ChoiceBar({ choices, onChange }: ChoiceBarProps) {
  const { t } = useTranslation(["chat", "common"]);
  const [open, setOpen] = useState(false);
  const summary = useChoiceSummary(choices);
  return (
    <div className={styles.choices}>
      <Button size="s" icon={SlidersHorizontal} onClick={() => setOpen(true)}>
        {t("choice.open")}
      </Button>
      <p>{summary}</p>
      <Dialog wide open={open} onClose={() => setOpen(false)} title={t("choice.title")} description={t("choice.lead")}>
        <ChoiceFields choices={choices} onChange={onChange} />
        <DialogActions>
          <Button variant="primary" onClick={() => setOpen(false)}>
            {t("choice.done")}
          </Button>
        </DialogActions>
      </Dialog>
    </div>
  );
}

const SUGGESTIONS = [
  ["agentic_rag", "look_up"],
  ["plan_execute", "compare"],
  ["reflexion", "check"],
  ["react", "task"],
] as const;

function Suggestions({ onPick }: { onPick: (type: AgentType, words: string) => void }) {
  const { t } = useTranslation("chat");
  return (
    <ul className={styles.suggestions} aria-label={t("new.suggestions")}>
      {SUGGESTIONS.map(([type, name]) => (
        <li key={name}>
          <button type="button" onClick={() => onPick(type, t(`suggestion.${name}.text`))}>
            <strong>{t(`suggestion.${name}.title`)}</strong>
            <span>{t(`suggestion.${name}.text`)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

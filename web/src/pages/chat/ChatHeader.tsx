/** The title of a conversation, and what was chosen for it. */
import { History, Plus, SlidersHorizontal } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button, IconButton, LinkButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import styles from "./ChatPage.module.css";
import { ChoiceFields, useChoiceSummary } from "./composer/ChoiceFields";
import { choicesOf, configOf } from "./composer/choices";
import { ConversationMenu } from "./conversations/ConversationMenu";
import { type Session, useChangeSession } from "./conversations/sessions";
import { useShowList } from "./showList";

export function ChatHeader({ session, error }: { session: Session | undefined; error: unknown }) {
  const { t } = useTranslation("chat");
  const may = useMay();
  const showList = useShowList();
  const [open, setOpen] = useState(false);
  const summary = useChoiceSummary(choicesOf(session?.config ?? {}));
  return (
    <header className={styles.header}>
      <IconButton icon={History} label={t("list.label")} className={styles.showList} onClick={showList} />
      <div className={styles.heading}>
        <h1>{session?.title || t("list.untitled")}</h1>
        {session && <p>{summary}</p>}
      </div>
      {error !== null && error !== undefined && <ErrorNotice error={error} />}
      {session && may("session:write") && (
        <IconButton icon={SlidersHorizontal} label={t("choice.title")} onClick={() => setOpen(true)} />
      )}
      {session && <ConversationMenu session={session} />}
      <LinkButton to="/chat" icon={Plus} size="s" className={styles.newChat}>
        {t("list.new_short")}
      </LinkButton>
      {open && session && <ChoiceDialog session={session} onClose={() => setOpen(false)} />}
    </header>
  );
}

function ChoiceDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const { t } = useTranslation(["chat", "common"]);
  const change = useChangeSession();
  const [choices, setChoices] = useState(() => choicesOf(session.config));
  const save = () => change.mutate({ id: session.id, change: { config: configOf(choices) } }, { onSuccess: onClose });
  return (
    <Dialog wide open onClose={onClose} title={t("choice.title")} description={t("choice.change_lead")}>
      <ChoiceFields choices={choices} onChange={setChoices} />
      {change.isError && <ErrorNotice error={change.error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("common:action.cancel")}</Button>
        <Button variant="primary" busy={change.isPending} onClick={save}>
          {t("common:action.save")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** A conversation: its turns, what it waits for, and the field for the next question. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { MessageCircleQuestion } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { ApiError } from "@/api/errors";
import { Button, LinkButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState, Notice } from "@/components/feedback/Notice";
import { useErrorToast } from "@/components/feedback/toasts";
import { useTitle } from "@/components/layout/Page";
import { ChatHeader } from "./ChatHeader";
import styles from "./ChatPage.module.css";
import type { Attachment } from "./composer/attachments";
import { Composer } from "./composer/Composer";
import { useComposerDraft } from "./composer/useComposerDraft";
import { useStoredAttachments } from "./composer/useStoredAttachments";
import { conversationOf, useConversation } from "./conversations/conversations";
import { sessionQuery, useChangeSession } from "./conversations/sessions";
import { SourcePanel } from "./sources/SourcePanel";
import { useOpenedSource } from "./sources/useOpenedSource";
import { Thread } from "./Thread";

export function ChatPage() {
  const { threadId } = useParams({ from: "/shell/conversations/chat/$threadId" });
  // Nothing of one conversation stays for the next, the draft apart.
  return <ConversationView key={threadId} threadId={threadId} />;
}

function ConversationView({ threadId }: { threadId: string }) {
  const { t } = useTranslation(["chat", "common"]);
  const session = useQuery(sessionQuery(threadId));
  const view = useConversation(threadId);
  const conversation = conversationOf(threadId);
  const source = useOpenedSource(view);
  useTitle(session.data?.title || t("common:nav.chat"));
  useStoredAttachments(threadId);
  useEffect(() => void conversation.open(), [conversation]);
  if (session.error instanceof ApiError && session.error.status === 404) return <Missing />;
  const isArchived = session.data?.is_archived ?? false;
  return (
    <div className={source.citation ? styles.withSource : styles.page} data-source={source.citation ? "" : undefined}>
      <div className={styles.middle}>
        <ChatHeader session={session.data} error={session.error} />
        <Thread
          view={view}
          conversation={conversation}
          opened={source.opened}
          onOpen={source.open}
          canAsk={!isArchived}
        />
        <footer className={styles.footer}>
          <ConnectionNotice view={view} onRetry={conversation.retryNow} />
          {session.data?.is_archived && <ArchiveNotice id={session.data.id} />}
          <QuestionField threadId={threadId} isArchived={isArchived} />
        </footer>
      </div>
      {source.citation && <SourcePanel citation={source.citation} onClose={source.close} />}
    </div>
  );
}

function Missing() {
  const { t } = useTranslation("chat");
  return (
    <EmptyState
      icon={MessageCircleQuestion}
      title={t("missing.title")}
      action={<LinkButton to="/chat">{t("list.new")}</LinkButton>}
    >
      {t("missing.text")}
    </EmptyState>
  );
}

interface ConnectionNoticeProps {
  view: ReturnType<typeof useConversation>;
  onRetry: () => void;
}

function ConnectionNotice({ view, onRetry }: ConnectionNoticeProps) {
  const { t } = useTranslation("chat");
  return (
    <div role="status">
      {view.phase === "reconnecting" && (
        <Notice
          tone="warning"
          action={
            <Button size="s" onClick={onRetry}>
              {t("connection.now")}
            </Button>
          }
        >
          {t("connection.lost")}
        </Notice>
      )}
    </div>
  );
}

function ArchiveNotice({ id }: { id: string }) {
  const { t } = useTranslation("chat");
  const may = useMay();
  const change = useChangeSession();
  return (
    <>
      <Notice
        action={
          may("session:write") && (
            <Button
              size="s"
              busy={change.isPending}
              onClick={() => change.mutate({ id, change: { is_archived: false } })}
            >
              {t("list.restore")}
            </Button>
          )
        }
      >
        {t("archived.text")}
      </Notice>
      {change.isError && <ErrorNotice error={change.error} />}
    </>
  );
}

function QuestionField({ threadId, isArchived }: { threadId: string; isArchived: boolean }) {
  const { t } = useTranslation("chat");
  const view = useConversation(threadId);
  const conversation = conversationOf(threadId);
  const toast = useErrorToast();
  const [text, setText] = useComposerDraft(threadId);
  const [attached, setAttached] = useState<readonly Attachment[]>([]);
  const { refused } = view;
  // What the server refused can be mended and sent again.
  useEffect(() => {
    if (!refused) return;
    setText(refused.text);
    setAttached(refused.attachments);
    conversation.clearRefused();
  });
  const isWaiting = view.interrupts.length > 0 && view.phase === "idle";
  const blocked = isArchived ? t("composer.archived") : isWaiting ? t("composer.waiting") : undefined;
  const isBusy = view.phase === "running" || view.phase === "reconnecting";
  return (
    <Composer
      text={text}
      onText={setText}
      attached={attached}
      onAttached={setAttached}
      blocked={blocked}
      stopping={view.stopping}
      onStop={isBusy ? () => conversation.stop().catch(toast) : undefined}
      onSend={(asked, attachments) => {
        setText("");
        setAttached([]);
        void conversation.ask({ text: asked, attachments });
      }}
    />
  );
}

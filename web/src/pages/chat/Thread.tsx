/** The turns of a conversation, which keeps to its end while an answer grows. */
import { ArrowDown } from "lucide-react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/ErrorNotice";
import { Notice } from "@/components/Notice";
import { Skeleton } from "@/components/Page";
import { textOf } from "./composer/attachments";
import { writeDraft } from "./composer/useComposerDraft";
import type { Conversation, ConversationView } from "./conversations/conversation";
import { InterruptCards } from "./interrupts/InterruptCards";
import { TurnView } from "./message/TurnView";
import { type Turn, turnsOf } from "./message/turns";
import { OfflineNotice } from "./OfflineNotice";
import styles from "./Thread.module.css";

const NONE: never[] = [];
const NO_STATE = {};
const NO_CALLS: ReadonlySet<string> = new Set();

export interface ThreadProps {
  view: ConversationView;
  conversation: Conversation;
  opened: { messageId: string; number: number } | null;
  onOpen: (messageId: string, number: number) => void;
  canAsk: boolean;
}

export function Thread({ view, conversation, opened, onOpen, canAsk }: ThreadProps) {
  const { t } = useTranslation("chat");
  const turns = useTurns(view);
  const end = useStickyEnd(view.messages);
  const isBusy = view.phase === "running" || view.phase === "reconnecting";
  const mayAsk = canAsk && view.phase === "idle" && view.interrupts.length === 0;
  const waitingCalls = useMemo(
    () => (view.interrupts.length ? new Set(view.interrupts.map(({ toolCallId }) => toolCallId ?? "")) : NO_CALLS),
    [view.interrupts],
  );
  const askAgain = useCallback((text: string) => void conversation.ask({ text, attachments: [] }), [conversation]);
  const edit = useCallback((text: string) => writeDraft(conversation.threadId, text), [conversation]);
  const lastQuestion = textOf(turns.at(-1)?.question?.content);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div ref={end.frame} className={styles.frame} onScroll={end.onScroll} tabIndex={0} role="log" aria-live="off">
      <div className={styles.turns}>
        <OfflineNotice />
        {view.phase === "loading" && turns.length === 0 && <Skeleton lines={8} />}
        {view.phase === "idle" && turns.length === 0 && <p className={styles.empty}>{t("message.none")}</p>}
        {turns.map((turn, index) => {
          const isLast = index === turns.length - 1;
          return (
            <TurnView
              key={turn.id}
              turn={turn}
              live={isLast && isBusy}
              steps={isLast ? view.steps : NONE}
              state={isLast ? view.state : NO_STATE}
              calls={view.calls}
              waitingCalls={waitingCalls}
              attachments={view.attachments[turn.id]}
              opened={opened && hasMessage(turn, opened.messageId) ? opened : null}
              onOpen={onOpen}
              onAskAgain={mayAsk ? askAgain : undefined}
              onEdit={mayAsk ? edit : undefined}
            />
          );
        })}
        {view.stopped && view.phase === "idle" && turns.at(-1)?.answers.length === 0 && (
          <Notice>{t("message.stopped")}</Notice>
        )}
        {view.failure && view.phase === "idle" && (
          <ErrorNotice
            error={view.failure}
            {...(mayAsk && lastQuestion ? { onRetry: () => askAgain(lastQuestion) } : {})}
          />
        )}
        {view.phase === "idle" && view.interrupts.length > 0 && (
          <InterruptCards
            key={view.interrupts.map(({ id }) => id).join()}
            interrupts={view.interrupts}
            onAnswer={(resume) => void conversation.answer(resume)}
          />
        )}
      </div>
      {end.isAway && (
        <Button size="s" icon={ArrowDown} className={styles.down} onClick={end.follow}>
          {t("message.latest")}
        </Button>
      )}
      <Announcer phase={view.phase} />
    </div>
  );
}

function hasMessage(turn: Turn, messageId: string): boolean {
  return turn.answers.some(({ id }) => id === messageId);
}

function useTurns(view: ConversationView): readonly Turn[] {
  const before = useRef<readonly Turn[]>([]);
  const turns = useMemo(() => turnsOf(view.messages, before.current), [view.messages]);
  useEffect(() => {
    before.current = turns;
  }, [turns]);
  return turns;
}

/** Stays at the end while it grows, unless the person has scrolled away. */
function useStickyEnd(messages: ConversationView["messages"]) {
  const frame = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const [isAway, setAway] = useState(false);
  const follow = useCallback(() => {
    follows.current = true;
    frame.current?.scrollTo({ top: frame.current.scrollHeight });
  }, []);
  const last = messages.findLast(({ role }) => role === "user")?.id;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new question is always shown
  useLayoutEffect(follow, [last]);
  useEffect(() => {
    const content = frame.current?.firstElementChild;
    if (!content) return;
    const observer = new ResizeObserver(() => follows.current && follow());
    observer.observe(content);
    return () => observer.disconnect();
  }, [follow]);
  function onScroll() {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = frame.current ?? {};
    const isNear = scrollHeight - scrollTop - clientHeight < 80;
    follows.current = isNear;
    setAway(!isNear);
  }
  return { frame, onScroll, isAway, follow };
}

/** Tells screen readers that an answer has begun and is there; not each of its words. */
function Announcer({ phase }: { phase: ConversationView["phase"] }) {
  const { t } = useTranslation("chat");
  const before = useRef(phase);
  const [words, setWords] = useState("");
  useEffect(() => {
    if (phase === "running") setWords(t("message.at_work"));
    if (phase === "idle" && before.current === "running") setWords(t("message.ready"));
    before.current = phase;
  }, [phase, t]);
  return (
    <p className="visually-hidden" role="status">
      {words}
    </p>
  );
}

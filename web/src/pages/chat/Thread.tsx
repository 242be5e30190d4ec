/** The turns of a conversation, which keeps to its end while an answer grows. */
import { useQuery } from "@tanstack/react-query";
import { ArrowDown } from "lucide-react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { type ApiError, RunFailure } from "@/api/errors";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { Skeleton } from "@/components/layout/Page";
import { textOf } from "./composer/attachments";
import { writeDraft } from "./composer/useComposerDraft";
import { branchPointsQuery, useBranchActions, useFreshBranchPoints } from "./conversations/branches";
import { heldPlace, releasePlace } from "./conversations/branchPlace";
import type { Conversation, ConversationView } from "./conversations/conversation";
import { InterruptCards } from "./interrupts/InterruptCards";
import { type QuestionActions, QuestionActionsProvider } from "./message/questionActions";
import { TurnView } from "./message/TurnView";
import { failureOf, type Turn, turnsOf } from "./message/turns";
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
  const [place] = useState(() => heldPlace(conversation.threadId));
  const end = useStickyEnd(view.messages, place);
  const isBusy = view.phase === "running" || view.phase === "reconnecting";
  const mayAsk = canAsk && view.phase === "idle" && view.interrupts.length === 0;
  const waitingCalls = useMemo(
    () => (view.interrupts.length ? new Set(view.interrupts.map(({ toolCallId }) => toolCallId ?? "")) : NO_CALLS),
    [view.interrupts],
  );
  const actions = useQuestions(conversation, view, canAsk);
  const failure = useFailure(view, turns);
  const lastQuestion = turns.at(-1)?.question;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div ref={end.frame} className={styles.frame} onScroll={end.onScroll} tabIndex={0} role="log" aria-live="off">
      <div className={styles.turns}>
        <OfflineNotice />
        {view.phase === "loading" && turns.length === 0 && <Skeleton lines={8} />}
        {view.phase === "idle" && turns.length === 0 && <p className={styles.empty}>{t("message.none")}</p>}
        <QuestionActionsProvider value={actions}>
          {turns.map((turn, index) => {
            const isLast = index === turns.length - 1;
            return (
              <TurnView
                key={turn.id}
                turn={turn}
                live={isLast && isBusy}
                latest={isLast}
                steps={isLast ? view.steps : NONE}
                state={isLast ? view.state : NO_STATE}
                callTimes={conversation.callTimes}
                waitingCalls={waitingCalls}
                attachments={view.attachments[turn.id]}
                opened={opened && hasMessage(turn, opened.messageId) ? opened : null}
                onOpen={onOpen}
                arrivedBy={turn.id === place?.messageId ? place.direction : null}
              />
            );
          })}
        </QuestionActionsProvider>
        {view.stopped && view.phase === "idle" && turns.at(-1)?.answers.length === 0 && (
          <Notice>{t("message.stopped")}</Notice>
        )}
        {view.refusal && <ErrorNotice error={view.refusal} />}
        {failure && !view.refusal && (
          <FailureNotice
            failure={failure}
            onRetry={
              mayAsk && lastQuestion ? () => actions.branch(lastQuestion.id, textOf(lastQuestion.content)) : undefined
            }
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

/** Questions may be asked in other words beside a run, too: it goes on where it is. */
function useQuestions(conversation: Conversation, view: ConversationView, canAsk: boolean): QuestionActions {
  const branches = useBranchActions(conversation);
  const { data } = useQuery(branchPointsQuery(conversation.threadId));
  useFreshBranchPoints(view);
  const mayAsk = canAsk && (view.phase === "idle" || view.phase === "running");
  return useMemo(() => {
    const points = new Map(data?.map(({ message_id: id, alternatives }) => [id, alternatives]));
    const draft = (text: string) => writeDraft(conversation.threadId, text);
    return { ...branches, mayAsk, draft, points };
  }, [branches, conversation.threadId, data, mayAsk]);
}

function hasMessage(turn: Turn, messageId: string): boolean {
  return turn.answers.some(({ id }) => id === messageId);
}

interface FailureNoticeProps {
  failure: ApiError;
  /** Ask the question again. */
  onRetry: (() => Promise<void>) | undefined;
}

function FailureNotice({ failure, onRetry }: FailureNoticeProps) {
  const [busy, setBusy] = useState(false);
  function retry() {
    setBusy(true);
    void onRetry?.().finally(() => setBusy(false));
  }
  return <ErrorNotice error={failure} busy={busy} onRetry={onRetry && retry} />;
}

/** Why there is no answer: of the run that was seen here, else of the last one as the server keeps it. */
function useFailure(view: ConversationView, turns: readonly Turn[]): ApiError | null {
  const { t } = useTranslation("chat");
  if (view.phase !== "idle") return null;
  const kept = failureOf(turns.at(-1));
  if (view.failure || kept === null) return view.failure;
  return new RunFailure(kept.message || t("message.failed"), kept.code, kept.requestId);
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
function useStickyEnd(messages: ConversationView["messages"], place: ReturnType<typeof heldPlace>) {
  const frame = useRef<HTMLDivElement>(null);
  const follows = useRef(place === null);
  const [isAway, setAway] = useState(false);
  const follow = useCallback(() => {
    follows.current = true;
    frame.current?.scrollTo({ top: frame.current.scrollHeight });
  }, []);
  const last = messages.findLast(({ role }) => role === "user")?.id;
  const shown = useRef(place ? last : undefined);
  useLayoutEffect(() => {
    // A new question is always shown, and so is the end of what is opened.
    if (shown.current === last && last !== undefined) return;
    shown.current = last;
    follow();
  }, [last, follow]);
  useLayoutEffect(() => {
    const arrows = place && frame.current?.querySelector("[data-arrived] fieldset");
    if (arrows) frame.current?.scrollBy(0, arrows.getBoundingClientRect().top - place.top);
    releasePlace();
  }, [place]);
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

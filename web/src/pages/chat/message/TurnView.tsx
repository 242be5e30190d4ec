/** One question with the work on it and the answer. */
import type { AssistantMessage } from "@ag-ui/core";
import { Check, Copy, LayoutList } from "lucide-react";
import { lazy, memo, Suspense, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "@/components/Button";
import { Skeleton } from "@/components/layout/Page";
import { type ShownAttachment, textOf } from "../composer/attachments";
import type { Direction } from "../conversations/branchPlace";
import type { CallTime, Step } from "../conversations/conversation";
import { SourcesProvider } from "../sources/sources";
import styles from "./Answer.module.css";
import { type AnswerFacts, citationOf, factsOf, listOf } from "./citations";
import { Question } from "./Question";
import questionStyles from "./Question.module.css";
import { AnswerCheck, SourceList } from "./SourceList";
import { StatePanel } from "./StatePanel";
import { failureOf, type Turn } from "./turns";
import { useCopy } from "./useCopy";
import { useNearby } from "./useNearby";
import { WorkTrace } from "./WorkTrace";

const Markdown = lazy(() => import("./Markdown"));
const AnswerCard = lazy(() => import("../card/AnswerCard"));

export interface TurnViewProps {
  turn: Turn;
  live: boolean;
  /** Whether it is the last one: what became of that is told below it. */
  latest: boolean;
  /** Of the newest turn; empty for older ones. */
  steps: readonly Step[];
  callTimes: ReadonlyMap<string, CallTime>;
  state: Readonly<Record<string, unknown>>;
  waitingCalls: ReadonlySet<string>;
  attachments: readonly ShownAttachment[] | undefined;
  opened: { messageId: string; number: number } | null;
  onOpen: (messageId: string, number: number) => void;
  /** Which arrow of its question led here. */
  arrivedBy: Direction | null;
}

export const TurnView = memo(function TurnView(props: TurnViewProps) {
  const { t } = useTranslation("chat");
  const { ref, isNear } = useNearby<HTMLElement>(props.latest || props.opened !== null || props.arrivedBy !== null);
  return (
    <article
      ref={ref}
      className={props.latest ? styles.turn : styles.pastTurn}
      aria-label={t("message.turn")}
      data-arrived={props.arrivedBy ?? undefined}
    >
      {isNear ? <WholeTurn {...props} /> : <PlainTurn turn={props.turn} />}
    </article>
  );
});

/** The words alone: they can be found in the page, and cost next to nothing. */
function PlainTurn({ turn }: { turn: Turn }) {
  return (
    <>
      {turn.question && (
        <div className={questionStyles.question}>
          <div className={questionStyles.bubble}>
            <p dir="auto">{textOf(turn.question.content)}</p>
          </div>
        </div>
      )}
      {turn.answers.map(({ id, content }) => (
        <p key={id} className={styles.plain}>
          {content}
        </p>
      ))}
    </>
  );
}

function WholeTurn(props: TurnViewProps) {
  const { turn, live, steps, callTimes, waitingCalls, state } = props;
  const { t } = useTranslation("chat");
  const failure = failureOf(turn);
  return (
    <>
      {turn.question && (
        <Question
          id={turn.question.id}
          text={textOf(turn.question.content)}
          attachments={props.attachments}
          arrivedBy={props.arrivedBy}
        />
      )}
      <div className={styles.answer}>
        <WorkTrace turn={turn} steps={steps} callTimes={callTimes} live={live} waitingCalls={waitingCalls} />
        <StatePanel state={state} />
        {turn.answers.map((message, index) => (
          <Answer
            key={message.id}
            message={message}
            growing={live && index === turn.answers.length - 1}
            state={state}
            opened={props.opened?.messageId === message.id ? props.opened : null}
            onOpen={props.onOpen}
          />
        ))}
        {failure !== null && !props.latest && <p className={styles.failed}>{failure.message || t("message.failed")}</p>}
      </div>
    </>
  );
}

interface AnswerProps extends Pick<TurnViewProps, "state" | "opened" | "onOpen"> {
  message: AssistantMessage;
  growing: boolean;
}

function Answer({ message, growing, state, opened, onOpen }: AnswerProps) {
  const { t } = useTranslation("chat");
  const facts = useMemo(() => factsOf(message.metadata), [message.metadata]);
  // Before the check at its end, an answer's numbers mean the passages found so far.
  const { evidence } = state;
  const citations = useMemo(
    () => (growing ? listOf(evidence).flatMap((entry) => citationOf(entry) ?? []) : facts.citations),
    [growing, evidence, facts],
  );
  const sources = useMemo(
    () => ({ messageId: message.id, citations, checked: !growing, open: onOpen, opened }),
    [message.id, citations, growing, onOpen, opened],
  );
  const [isCard, setCard] = useState(false);
  const text = message.content ?? "";
  return (
    <SourcesProvider value={sources}>
      <section className={styles.text} aria-busy={growing}>
        <h2 className="visually-hidden">{t("message.answer")}</h2>
        {isCard ? (
          <Suspense fallback={<Skeleton lines={4} />}>
            <AnswerCard messageId={message.id} />
          </Suspense>
        ) : (
          <Suspense fallback={<p className={styles.plain}>{text}</p>}>
            <Markdown text={text} />
          </Suspense>
        )}
        {facts.endedBy && <EndedBy by={facts.endedBy} />}
        {facts.stopped && <p className={styles.quiet}>{t("message.stopped")}</p>}
        {!growing && <AnswerCheck facts={facts} />}
        {/* A card has its sources itself. */}
        {!growing && !isCard && <SourceList facts={facts} />}
        {!growing && <AnswerActions text={text} facts={facts} isCard={isCard} onCard={setCard} />}
      </section>
    </SourcesProvider>
  );
}

const BUDGETS = { turns: "ended.turns", tokens: "ended.tokens", time: "ended.time", repeats: "ended.repeats" } as const;

function EndedBy({ by }: { by: string }) {
  const { t } = useTranslation("chat");
  return by in BUDGETS ? <p className={styles.quiet}>{t(BUDGETS[by as keyof typeof BUDGETS])}</p> : null;
}

interface AnswerActionsProps {
  text: string;
  facts: AnswerFacts;
  isCard: boolean;
  onCard: (shown: boolean) => void;
}

function AnswerActions({ text, facts, isCard, onCard }: AnswerActionsProps) {
  const { t } = useTranslation("chat");
  const { copied, copy } = useCopy();
  const withSources = () =>
    [text, ...facts.citations.map(({ number, documentName }) => `[${number}] ${documentName}`)].join("\n");
  return (
    <div className={styles.actions}>
      <IconButton
        size="s"
        icon={copied ? Check : Copy}
        label={copied ? t("message.copied") : t("message.copy")}
        onClick={() => copy(withSources())}
      />
      <IconButton
        size="s"
        icon={LayoutList}
        label={t("card.show")}
        aria-pressed={isCard}
        onClick={() => onCard(!isCard)}
      />
    </div>
  );
}

/** One question with the work on it and the answer. */
import type { AssistantMessage } from "@ag-ui/core";
import { Check, Copy, FileText, Pencil, RotateCcw } from "lucide-react";
import { lazy, memo, Suspense, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "@/components/Button";
import { type ShownAttachment, textOf } from "../composer/attachments";
import type { CallTime, Step } from "../conversations/conversation";
import { SourcesProvider } from "../sources/sources";
import styles from "./Answer.module.css";
import { type AnswerFacts, citationOf, factsOf, listOf } from "./citations";
import { AnswerCheck, SourceList } from "./SourceList";
import { StatePanel } from "./StatePanel";
import type { Turn } from "./turns";
import { useCopy } from "./useCopy";
import { WorkTrace } from "./WorkTrace";

const Markdown = lazy(() => import("./Markdown"));

export interface TurnViewProps {
  turn: Turn;
  live: boolean;
  /** Of the newest turn; empty for older ones. */
  steps: readonly Step[];
  calls: Readonly<Record<string, CallTime>>;
  state: Readonly<Record<string, unknown>>;
  waitingCalls: ReadonlySet<string>;
  attachments: readonly ShownAttachment[] | undefined;
  opened: { messageId: string; number: number } | null;
  onOpen: (messageId: string, number: number) => void;
  /** Left out where nothing can be asked. */
  onAskAgain?: ((text: string) => void) | undefined;
  onEdit?: ((text: string) => void) | undefined;
}

export const TurnView = memo(function TurnView(props: TurnViewProps) {
  const { turn, live, steps, calls, waitingCalls, state } = props;
  const { t } = useTranslation("chat");
  const isFailed = turn.progress?.content.status === "failed" && !live;
  return (
    <article className={styles.turn} aria-label={t("message.turn")}>
      {turn.question && <Question {...props} text={textOf(turn.question.content)} />}
      <div className={styles.answer}>
        <WorkTrace turn={turn} steps={steps} calls={calls} live={live} waitingCalls={waitingCalls} />
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
        {isFailed && <p className={styles.failed}>{t("message.failed")}</p>}
      </div>
    </article>
  );
});

function Question({ text, attachments, onAskAgain, onEdit }: TurnViewProps & { text: string }) {
  const { t } = useTranslation("chat");
  return (
    <div className={styles.question}>
      <h2 className="visually-hidden">{t("message.question")}</h2>
      <div className={styles.bubble}>
        {attachments && attachments.length > 0 && (
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
        )}
        <p>{text}</p>
      </div>
      {(onEdit || onAskAgain) && (
        <div className={styles.actions}>
          {onAskAgain && (
            <IconButton size="s" icon={RotateCcw} label={t("message.ask_again")} onClick={() => onAskAgain(text)} />
          )}
          {onEdit && <IconButton size="s" icon={Pencil} label={t("message.edit")} onClick={() => onEdit(text)} />}
        </div>
      )}
    </div>
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
  const text = message.content ?? "";
  return (
    <SourcesProvider value={sources}>
      <section className={styles.text} aria-busy={growing}>
        <h2 className="visually-hidden">{t("message.answer")}</h2>
        <Suspense fallback={<p className={styles.plain}>{text}</p>}>
          <Markdown text={text} />
        </Suspense>
        {facts.endedBy && <EndedBy by={facts.endedBy} />}
        {facts.stopped && <p className={styles.quiet}>{t("message.stopped")}</p>}
        {!growing && <AnswerCheck facts={facts} />}
        {!growing && <SourceList facts={facts} />}
        {!growing && <AnswerActions text={text} facts={facts} />}
      </section>
    </SourcesProvider>
  );
}

const BUDGETS = { turns: "ended.turns", tokens: "ended.tokens", time: "ended.time", repeats: "ended.repeats" } as const;

function EndedBy({ by }: { by: string }) {
  const { t } = useTranslation("chat");
  return by in BUDGETS ? <p className={styles.quiet}>{t(BUDGETS[by as keyof typeof BUDGETS])}</p> : null;
}

function AnswerActions({ text, facts }: { text: string; facts: AnswerFacts }) {
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
    </div>
  );
}

/** What the agent waits for: consent to calls, and answers. All are sent together. */
import { isInterruptExpired } from "@ag-ui/client";
import type { Interrupt, ResumeEntry } from "@ag-ui/core";
import { Hand } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { formatDateTime } from "@/i18n/format";
import { objectOf } from "../message/citations";
import { ApprovalForm } from "./ApprovalForm";
import { ElicitationForm } from "./ElicitationForm";
import styles from "./InterruptCards.module.css";
import { interruptFacts, useInterruptQuestion } from "./interruptQuestion";
import { ResponseForm } from "./ResponseForm";

export interface InterruptCardsProps {
  interrupts: readonly Interrupt[];
  onAnswer: (resume: ResumeEntry[]) => void;
}

export function InterruptCards({ interrupts, onAnswer }: InterruptCardsProps) {
  const { t } = useTranslation("chat");
  const [answers, setAnswers] = useState<Readonly<Record<string, ResumeEntry>>>({});
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.scrollIntoView({ block: "nearest" });
  }, []);
  function answer(entry: ResumeEntry) {
    const next = { ...answers, [entry.interruptId]: entry };
    const entries = interrupts.flatMap(({ id }) => next[id] ?? []);
    setAnswers(next);
    if (entries.length === interrupts.length) onAnswer(entries);
  }
  return (
    <section className={styles.cards} role="status">
      <h2 ref={heading} className={styles.title}>
        <Hand size={16} aria-hidden />
        {t("interrupt.title", { count: interrupts.length })}
      </h2>
      {interrupts.map((interrupt) => (
        <InterruptCard
          key={interrupt.id}
          interrupt={interrupt}
          answer={answers[interrupt.id]}
          onAnswer={answer}
          onUndo={() => setAnswers(({ [interrupt.id]: _, ...rest }) => rest)}
        />
      ))}
    </section>
  );
}

interface CardProps {
  interrupt: Interrupt;
  answer: ResumeEntry | undefined;
  onAnswer: (entry: ResumeEntry) => void;
  onUndo: () => void;
}

function InterruptCard({ interrupt, answer, onAnswer, onUndo }: CardProps) {
  const { t } = useTranslation(["chat", "common"]);
  const { id, expiresAt, reason } = interrupt;
  const { elicitation } = objectOf(interrupt.metadata);
  const question = useInterruptQuestion()(interruptFacts(interrupt));
  const resolve = (payload: unknown) => onAnswer({ interruptId: id, status: "resolved", payload });
  const cancel = () => onAnswer({ interruptId: id, status: "cancelled" });
  if (answer) {
    return (
      <div className={styles.card}>
        <p>{question}</p>
        <div className={styles.row}>
          <p className={styles.quiet}>{t("interrupt.answered")}</p>
          <Button size="s" onClick={onUndo}>
            {t("interrupt.change")}
          </Button>
        </div>
      </div>
    );
  }
  const isExpired = isInterruptExpired(interrupt);
  return (
    <div className={styles.card}>
      {question && <p className={styles.message}>{question}</p>}
      {isExpired ? (
        <>
          <p>{t("interrupt.expired")}</p>
          <div className={styles.row}>
            <Button onClick={cancel}>{t("interrupt.give_up")}</Button>
          </div>
        </>
      ) : elicitation ? (
        <ElicitationForm
          schema={objectOf(objectOf(interrupt.responseSchema).properties).content}
          url={String(objectOf(elicitation).url ?? "")}
          onResolve={resolve}
          onCancel={cancel}
        />
      ) : reason === "tool_call" ? (
        <ApprovalForm interrupt={interrupt} onResolve={resolve} />
      ) : (
        <ResponseForm interrupt={interrupt} onResolve={resolve} onCancel={cancel} />
      )}
      {expiresAt && !isExpired && (
        <p className={styles.quiet}>{t("interrupt.expires", { when: formatDateTime(expiresAt) })}</p>
      )}
    </div>
  );
}

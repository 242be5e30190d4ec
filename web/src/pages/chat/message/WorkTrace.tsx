/** The work on a question, folded: steps, thoughts, calls of tools. */
import { ChevronRight, LoaderCircle, Sparkles } from "lucide-react";
import { memo } from "react";
import { useTranslation } from "react-i18next";
import type { CallTime, Step } from "../conversations/conversation";
import { CallProgressBar } from "./CallProgressBar";
import { objectOf } from "./citations";
import { secondsText, ToolCard } from "./ToolCard";
import { stepKey } from "./toolNames";
import type { CallProgress, Turn, Work } from "./turns";
import styles from "./Work.module.css";

export interface WorkTraceProps {
  turn: Turn;
  /** Of the run that is being shown, or was; none for older turns. */
  steps: readonly Step[];
  callTimes: ReadonlyMap<string, CallTime>;
  live: boolean;
  waitingCalls: ReadonlySet<string>;
}

export const WorkTrace = memo(function WorkTrace({ turn, steps, callTimes, live, waitingCalls }: WorkTraceProps) {
  const { t } = useTranslation("chat");
  if (turn.work.length === 0 && steps.length === 0 && !live) return null;
  const running = live ? runningProgress(turn.work) : null;
  const current = steps.findLast(({ endedAt }) => endedAt === null) ?? steps.at(-1);
  return (
    <details className={styles.trace}>
      <summary>
        {live ? <LoaderCircle size={16} aria-hidden className={styles.spin} /> : <Sparkles size={16} aria-hidden />}
        <span className={styles.headline}>{live ? <StepName name={current?.name ?? ""} /> : t("work.title")}</span>
        {running && <CallProgressBar progress={running} />}
        <Facts turn={turn} steps={live ? [] : steps} />
        <ChevronRight size={16} aria-hidden className={styles.chevron} />
      </summary>
      <div className={styles.body}>
        {turn.work.map((work) => (
          <WorkItem key={keyOf(work)} work={work} callTimes={callTimes} live={live} waitingCalls={waitingCalls} />
        ))}
        {steps.length > 0 && <Steps steps={steps} />}
      </div>
    </details>
  );
});

/** Of the newest call that is under way and tells how far it is. */
function runningProgress(work: readonly Work[]): CallProgress | null {
  const call = work.findLast((item) => item.kind === "call" && item.result === null && item.progress !== null);
  return call?.kind === "call" ? call.progress : null;
}

function keyOf(work: Work): string {
  return work.kind === "call" ? work.call.id : work.message.id;
}

function StepName({ name }: { name: string }) {
  const { t } = useTranslation("chat");
  const key = stepKey(name);
  return <>{key ? t(key) : name || t("work.begins")}</>;
}

function WorkItem({ work, callTimes, live, waitingCalls }: { work: Work } & Omit<WorkTraceProps, "turn" | "steps">) {
  if (work.kind === "call") {
    const { id } = work.call;
    return <ToolCard {...work} time={callTimes.get(id)} live={live} waiting={waitingCalls.has(id)} />;
  }
  const text = typeof work.message.content === "string" ? work.message.content : "";
  return <p className={work.kind === "thought" ? styles.thought : styles.remark}>{text}</p>;
}

function Facts({ turn, steps }: { turn: Turn; steps: readonly Step[] }) {
  const { t } = useTranslation("chat");
  const { passages } = objectOf(turn.progress?.content);
  const callCount = turn.work.filter(({ kind }) => kind === "call").length;
  const first = steps[0];
  const end = steps.at(-1)?.endedAt;
  return (
    <span className={styles.facts}>
      {callCount > 0 && <span className={styles.fact}>{t("work.calls", { count: callCount })}</span>}
      {typeof passages === "number" && passages > 0 && (
        <span className={styles.fact}>{t("work.passages", { count: passages })}</span>
      )}
      {first && end != null && end - first.startedAt >= 50 && (
        <span className={styles.fact}>{secondsText((end - first.startedAt) / 1000)}</span>
      )}
    </span>
  );
}

function Steps({ steps }: { steps: readonly Step[] }) {
  const { t } = useTranslation("chat");
  return (
    <section>
      <h4>{t("work.steps")}</h4>
      <ol className={styles.steps}>
        {steps.map(({ name, startedAt, endedAt }) => (
          <li key={`${name}-${startedAt}`}>
            <StepName name={name} />
            {endedAt !== null && endedAt - startedAt >= 50 && (
              <span className={styles.fact}>{secondsText((endedAt - startedAt) / 1000)}</span>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

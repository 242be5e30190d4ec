/** One call of a tool: name, arguments, result. */
import type { ToolCall, ToolMessage } from "@ag-ui/core";
import { Link } from "@tanstack/react-router";
import { ChevronRight, CircleAlert, CircleCheck, CircleDashed, Hand, LoaderCircle } from "lucide-react";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { formatNumber } from "@/i18n/format";
import { textOf } from "../composer/attachments";
import type { CallTime } from "../conversations/conversation";
import { CallProgressBar } from "./CallProgressBar";
import { objectOf } from "./citations";
import { toolName } from "./toolNames";
import { type FoundPassage, outcomeOf, parsed } from "./toolResults";
import type { CallProgress } from "./turns";
import styles from "./Work.module.css";

const SHORT = 1500;

export interface ToolCardProps {
  call: ToolCall;
  result: ToolMessage | null;
  progress: CallProgress | null;
  time: CallTime | undefined;
  /** Whether a run is under way that may still bring the result. */
  live: boolean;
  waiting: boolean;
}

export function ToolCard({ call, result, progress, time, live, waiting }: ToolCardProps) {
  const { t } = useTranslation(["chat", "search"]);
  const outcome = useMemo(() => (result ? outcomeOf(textOf(result.content)) : null), [result]);
  const about = useMemo(() => aboutOf(call.function.arguments), [call.function.arguments]);
  const known = toolName(call.function.name);
  const failed = outcome?.failure != null || result?.error != null;
  const seconds = time?.endedAt != null ? (time.endedAt - time.startedAt) / 1000 : null;
  const status = result ? (failed ? "failed" : "done") : waiting ? "waiting" : live ? "running" : "none";
  return (
    <details className={styles.tool}>
      <summary>
        <StatusIcon status={status} />
        <span className={styles.toolName}>{"key" in known ? t(known.key) : known.name}</span>
        {about && <span className={styles.about}>{about}</span>}
        <span className="visually-hidden">{t(`tool_status.${status}`)}</span>
        {status === "running" && progress && <CallProgressBar progress={progress} />}
        {outcome?.passages && (
          <span className={styles.fact}>{t("work.passages", { count: outcome.passages.length })}</span>
        )}
        {seconds !== null && seconds >= 0.05 && <span className={styles.fact}>{secondsText(seconds)}</span>}
        <ChevronRight size={14} aria-hidden className={styles.chevron} />
      </summary>
      <div className={styles.toolBody}>
        <h4>{t("tool_card.arguments")}</h4>
        <Text text={indented(call.function.arguments)} />
        <h4>{failed ? t("tool_card.failure") : t("tool_card.result")}</h4>
        {outcome?.passages ? (
          <Passages passages={outcome.passages} />
        ) : (
          <Text text={outcome ? outcome.text : t(`tool_status.${status}`)} />
        )}
        {outcome?.retrievalId && (
          <Link to="/retrievals/$retrievalId" params={{ retrievalId: outcome.retrievalId }}>
            {t("search:retrieval.open")}
          </Link>
        )}
      </div>
    </details>
  );
}

export function secondsText(seconds: number): string {
  return formatNumber(seconds, {
    style: "unit",
    unit: "second",
    unitDisplay: "narrow",
    maximumFractionDigits: seconds < 10 ? 1 : 0,
  });
}

function StatusIcon({ status }: { status: "failed" | "done" | "waiting" | "running" | "none" }) {
  if (status === "failed") return <CircleAlert size={15} aria-hidden className={styles.failed} />;
  if (status === "done") return <CircleCheck size={15} aria-hidden className={styles.done} />;
  if (status === "waiting") return <Hand size={15} aria-hidden className={styles.waiting} />;
  if (status === "running") return <LoaderCircle size={15} aria-hidden className={styles.spin} />;
  return <CircleDashed size={15} aria-hidden />;
}

function Text({ text }: { text: string }) {
  const { t } = useTranslation("chat");
  const [all, setAll] = useState(false);
  const isLong = text.length > SHORT;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{isLong && !all ? `${text.slice(0, SHORT)}…` : text}</pre>
      {isLong && (
        <Button size="s" variant="ghost" onClick={() => setAll(!all)}>
          {t(all ? "tool_card.less" : "tool_card.all")}
        </Button>
      )}
    </>
  );
}

function Passages({ passages }: { passages: readonly FoundPassage[] }) {
  const { t } = useTranslation("chat");
  if (passages.length === 0) return <p className={styles.quiet}>{t("tool_card.nothing")}</p>;
  return (
    <ol className={styles.passages}>
      {passages.map(({ number, document, headings, text }) => (
        <li key={number}>
          <p>
            <span className={styles.number}>{number}</span>
            <strong>{document}</strong>
            {headings.length > 0 && <span className={styles.quiet}> {headings.join(" › ")}</span>}
          </p>
          <p className={styles.excerpt}>{text}</p>
        </li>
      ))}
    </ol>
  );
}

function aboutOf(json: string): string {
  const { query, document, about, name, message, prompt, text } = objectOf(parsed(json));
  const first = [query, document, about, name, message, prompt, text].find((value) => typeof value === "string");
  return typeof first === "string" ? first : "";
}

function indented(json: string): string {
  const value = parsed(json);
  return value === undefined ? json : JSON.stringify(value, null, 2);
}

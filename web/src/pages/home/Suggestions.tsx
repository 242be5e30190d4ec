/** Questions that Agentex's own documentation answers; while that is still being read, a chosen one waits for it. */
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ProgressBar } from "@/components/feedback/Badge";
import { formatDuration, formatPercent } from "@/i18n/format";
import type { HomeQuestion } from "./AskBox";
import { useDocumentation } from "./documentation";
import styles from "./HomePage.module.css";
import { KnowledgeSuggestions } from "./KnowledgeSuggestions";
import type { Documentation } from "./progress";

const SUGGESTIONS = ["suggestion.upload", "suggestion.languages", "suggestion.skill"] as const;

export function Suggestions({ isBusy, onAsk }: { isBusy: boolean; onAsk: (question: HomeQuestion) => void }) {
  const { t } = useTranslation("home");
  const documentation = useDocumentation();
  const [waiting, setWaiting] = useState<string | null>(null);
  const ask = useRef(onAsk);
  ask.current = onAsk;

  useEffect(() => {
    if (waiting === null || documentation.state === "reading" || documentation.state === "unknown") return;
    setWaiting(null);
    if (documentation.state === "ready") ask.current({ text: waiting, knowledgeBases: [] });
  }, [waiting, documentation.state]);

  if (documentation.state === "unknown") return null;
  if (documentation.state === "absent") return <KnowledgeSuggestions isBusy={isBusy} onAsk={onAsk} />;
  return (
    <>
      <div className={styles.suggestions}>
        {SUGGESTIONS.map((key) => (
          <Button
            key={key}
            size="s"
            disabled={isBusy}
            aria-pressed={waiting === null ? undefined : waiting === t(key)}
            onClick={() => setWaiting(t(key))}
          >
            {t(key)}
          </Button>
        ))}
      </div>
      {documentation.state === "reading" && (
        <ReadingNotice documentation={documentation} question={waiting} onCancel={() => setWaiting(null)} />
      )}
    </>
  );
}

function ReadingNotice({
  documentation: { percent, secondsLeft },
  question,
  onCancel,
}: {
  documentation: Documentation & { state: "reading" };
  /** The one that is asked once the documentation was read. */
  question: string | null;
  onCancel: () => void;
}) {
  const { t } = useTranslation("home");
  const done = formatPercent(percent / 100);
  return (
    <div className={styles.reading}>
      <div className={styles.readingText}>
        <p role="status">{question === null ? t("documentation.reading") : t("documentation.waiting", { question })}</p>
        <p className={styles.detail}>
          {secondsLeft === null ? done : `${done} · ${t("processing.left", { time: formatDuration(secondsLeft) })}`}
        </p>
        {/* The first documents come together: until then the bar only moves. */}
        <ProgressBar value={percent ? percent / 100 : null} label={t("documentation.bar")} />
      </div>
      {question !== null && (
        <Button size="s" onClick={onCancel}>
          {t("documentation.cancel")}
        </Button>
      )}
    </div>
  );
}

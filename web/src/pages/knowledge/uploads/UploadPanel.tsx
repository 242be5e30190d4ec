/** How far an upload is, and each file that was refused with its reason. */
import { Pause, Play, RotateCcw, X } from "lucide-react";
import { useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ProgressBar } from "@/components/feedback/Badge";
import { formatBytes, formatDuration, formatNumber } from "@/i18n/format";
import { useFailureText } from "../useFailureText";
import styles from "./UploadArea.module.css";
import type { Refusal, UploadQueue, UploadState } from "./uploadQueue";

export function UploadPanel({ queue }: { queue: UploadQueue }) {
  const state = useSyncExternalStore(queue.subscribe, queue.snapshot);
  return state.files || state.refusals.length ? <Panel queue={queue} state={state} /> : null;
}

function Panel({ queue, state }: { queue: UploadQueue; state: UploadState }) {
  const { t } = useTranslation("knowledge");
  const { files, finished, bytes, sentBytes, isRunning, sending, refusals } = state;
  const heading = useHeading(state);
  const tally = useTally(state);
  const share = bytes ? (sentBytes / bytes + finished / Math.max(1, files)) / 2 : finished / Math.max(1, files);
  return (
    <section className={styles.panel} aria-label={t("upload.progress")}>
      <div className={styles.panelHead}>
        <strong>{heading}</strong>
        <span className={styles.small}>
          {t("upload.sizes", { sent: formatBytes(sentBytes), total: formatBytes(bytes) })}
        </span>
        <PanelActions queue={queue} state={state} />
      </div>
      {isRunning && <ProgressBar value={share} label={t("upload.progress")} />}
      <p className={styles.small}>{tally}</p>
      {isRunning && sending[0] && <p className={styles.sending}>{t("upload.sending", { name: sending[0] })}</p>}
      {/* Said once it is over, not with each file. */}
      <p role="status" className="visually-hidden">
        {isRunning ? "" : t("upload.over", { count: finished })}
      </p>
      {refusals.length > 0 && <Refusals refusals={refusals} />}
    </section>
  );
}

function useHeading({ files, finished, isRunning, isPaused, isCancelled, bytes, sentBytes, startedAt }: UploadState) {
  const { t } = useTranslation("knowledge");
  if (isCancelled) return t("upload.cancelled", { count: finished });
  if (!isRunning) return t("upload.over", { count: finished });
  if (isPaused) return t("upload.paused");
  const words = t("upload.running", { done: formatNumber(finished), total: formatNumber(files) });
  const seconds = (Date.now() - startedAt) / 1000;
  const left = sentBytes > 0 ? (seconds / sentBytes) * (bytes - sentBytes) : 0;
  return seconds > 2 && left > 1 ? `${words} · ${t("documents.time_left", { time: formatDuration(left) })}` : words;
}

function useTally({ created, replaced, unchanged, refusals }: UploadState): string {
  const { t } = useTranslation("knowledge");
  const parts = [
    created && t("upload.created", { count: created }),
    replaced && t("upload.replaced", { count: replaced }),
    unchanged && t("upload.unchanged", { count: unchanged }),
    refusals.length && t("upload.refused", { count: refusals.length }),
  ];
  return parts.filter(Boolean).join(" · ");
}

function PanelActions({ queue, state }: { queue: UploadQueue; state: UploadState }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const { isRunning, isPaused, refusals } = state;
  return (
    <span className={styles.panelActions}>
      {refusals.some(({ again }) => again) && (
        <Button size="s" icon={RotateCcw} onClick={() => queue.retry()}>
          {t("common:action.retry")}
        </Button>
      )}
      {isRunning && (
        <>
          <Button size="s" icon={isPaused ? Play : Pause} onClick={() => (isPaused ? queue.resume() : queue.pause())}>
            {t(isPaused ? "action.resume" : "action.pause")}
          </Button>
          <Button size="s" icon={X} onClick={() => queue.cancel()}>
            {t("common:action.cancel")}
          </Button>
        </>
      )}
      {!isRunning && (
        <Button size="s" icon={X} onClick={() => queue.clear()}>
          {t("common:action.close")}
        </Button>
      )}
    </span>
  );
}

const SHOWN = 100;

function Refusals({ refusals }: { refusals: readonly Refusal[] }) {
  const { t } = useTranslation("knowledge");
  const said = useFailureText();
  const [shown, setShown] = useState(SHOWN);
  const reason = ({ error, cause }: Refusal) => (cause ? t(`upload.cause.${cause}`) : error ? said(error).message : "");
  return (
    <details className={styles.refusals} open={refusals.length <= 10}>
      <summary>{t("upload.refused_list", { count: refusals.length })}</summary>
      <ul>
        {refusals.slice(0, shown).map((refusal, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two refusals may have the same name; none moves
          <li key={index}>
            <span>{refusal.name}</span>
            <span className={styles.reason}>{reason(refusal)}</span>
          </li>
        ))}
      </ul>
      {refusals.length > shown && (
        <Button size="s" variant="ghost" onClick={() => setShown(shown + 500)}>
          {t("upload.more", { count: refusals.length - shown })}
        </Button>
      )}
    </details>
  );
}

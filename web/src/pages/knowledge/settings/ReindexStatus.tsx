/** How a re-index stands, what it is compared with, and the ways on and back. */
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { Button } from "@/components/Button";
import { ProgressBar } from "@/components/feedback/Badge";
import { Notice } from "@/components/feedback/Notice";
import { useErrorToast } from "@/components/feedback/toasts";
import { Card, Section } from "@/components/layout/Page";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { formatDateTime, formatDuration, formatPercent } from "@/i18n/format";
import form from "../Form.module.css";
import { useRefresh } from "../knowledgeActions";
import type { Reindex } from "../queries";
import { useFailureText } from "../useFailureText";
import { splitterKey, splittingOf } from "./presets";
import { RecallTable } from "./RecallTable";
import styles from "./Settings.module.css";

type ReindexStep = "cutover" | "without_failed" | "cancel" | "rollback";

function stepRequest(kbId: string, step: ReindexStep) {
  const params = { path: { kb_id: kbId } };
  if (step === "cancel") return call(api.POST("/api/v1/knowledge-bases/{kb_id}/reindex/cancel", { params }));
  if (step === "rollback") return call(api.POST("/api/v1/knowledge-bases/{kb_id}/reindex/rollback", { params }));
  const body = { without_failed: step === "without_failed" };
  return call(api.POST("/api/v1/knowledge-bases/{kb_id}/reindex/cutover", { params, body }));
}

export function ReindexStatus({ kbId, reindex }: { kbId: string; reindex: Reindex }) {
  const { t } = useTranslation("knowledge");
  const { state, previous } = reindex;
  if (state === "none" && !previous) return null;
  return (
    <Section title={t("reindex.title")}>
      <Card className={form.form}>
        {state === "none" ? <Previous reindex={reindex} /> : <UnderWay kbId={kbId} reindex={reindex} />}
        {reindex.recall && <RecallTable recall={reindex.recall} isOver={state === "none"} />}
        <Steps kbId={kbId} reindex={reindex} />
      </Card>
    </Section>
  );
}

function useSettingsText() {
  const { t } = useTranslation("knowledge");
  return (settings: NonNullable<Reindex["target"]>) => {
    const { splitter, chunk_size, chunk_overlap } = splittingOf(settings);
    return t("reindex.settings", {
      splitter: t(`splitter.${splitterKey(splitter)}.title`),
      size: chunk_size,
      overlap: chunk_overlap,
      model: settings.embedding_model,
    });
  };
}

function Previous({ reindex: { previous } }: { reindex: Reindex }) {
  const { t } = useTranslation("knowledge");
  const text = useSettingsText();
  if (!previous) return null;
  return (
    <>
      <p>{t("reindex.done_text", { when: formatDateTime(previous.kept_until) })}</p>
      <p className={form.small}>{t("reindex.before", { settings: text(previous) })}</p>
    </>
  );
}

function UnderWay({ kbId, reindex }: { kbId: string; reindex: Reindex }) {
  const { t } = useTranslation("knowledge");
  const said = useFailureText();
  const text = useSettingsText();
  const { state, percent, eta_seconds, documents, target, waiting, failed_documents, recall_missing } = reindex;
  if (state === "none") return null;
  const tone = state === "blocked" || state === "held" ? "warning" : "info";
  return (
    <>
      <Notice tone={tone}>
        <p role="status">{t(`reindex.state.${state}`)}</p>
      </Notice>
      {target && <p className={form.small}>{t("reindex.towards", { settings: text(target) })}</p>}
      <ProgressBar value={percent / 100} label={t("reindex.title")} />
      <p className={form.small}>
        {[
          formatPercent(percent / 100),
          t("reindex.documents", documents),
          eta_seconds !== null &&
            state === "running" &&
            t("documents.time_left", { time: formatDuration(eta_seconds) }),
          reindex.edited_chunks > 0 && t("reindex.edited", { count: reindex.edited_chunks }),
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {[waiting, recall_missing].map(
        (words) =>
          words && (
            <Notice key={words.reason} tone="warning">
              <p>{said(words).message}</p>
              <p>{said(words).next}</p>
            </Notice>
          ),
      )}
      {failed_documents.length > 0 && (
        <ul className={styles.failures}>
          {failed_documents.map(({ id, name, failure }) => (
            <li key={id}>
              <Link to="/knowledge-bases/$kbId/documents/$documentId" params={{ kbId, documentId: id }}>
                {name}
              </Link>
              <span className={form.small}>
                {[said(failure ?? {}).message, said(failure ?? {}).next].filter(Boolean).join(" · ")}
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Steps({ kbId, reindex }: { kbId: string; reindex: Reindex }) {
  const { t } = useTranslation("knowledge");
  const refresh = useRefresh(kbId);
  const [asks, setAsks] = useState<ReindexStep | null>(null);
  const go = useMutation({
    mutationFn: (step: ReindexStep) => stepRequest(kbId, step),
    onSettled: refresh,
  });
  const onError = useErrorToast();
  const steps = stepsOf(reindex);
  const isGentle = (step: ReindexStep) => step === "cutover" && reindex.state === "ready";
  return (
    <div className={form.actions}>
      {steps.map((step) => (
        <Button
          key={step}
          variant={isGentle(step) ? "primary" : "secondary"}
          busy={go.isPending}
          onClick={() => (isGentle(step) ? go.mutate(step, { onError }) : setAsks(step))}
        >
          {t(`reindex.step.${step}.button`)}
        </Button>
      ))}
      {asks && (
        <ConfirmDialog
          open
          onClose={() => setAsks(null)}
          title={t(`reindex.step.${asks}.title`)}
          description={t(`reindex.step.${asks}.text`)}
          action={t(`reindex.step.${asks}.button`)}
          onConfirm={() => go.mutateAsync(asks)}
        />
      )}
    </div>
  );
}

function stepsOf({ state, previous }: Reindex): ReindexStep[] {
  if (state === "ready" || state === "held") return ["cutover", "cancel"];
  if (state === "blocked") return ["without_failed", "cancel"];
  if (state === "running") return ["cancel"];
  return previous ? ["rollback"] : [];
}

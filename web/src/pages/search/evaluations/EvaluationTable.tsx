/** The measurements of a knowledge base, newest first, each with its change to the one before. */
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, callEmpty } from "@/api/client";
import { Button, IconButton } from "@/components/Button";
import { notify } from "@/components/feedback/toasts";
import { ActionsHead } from "@/components/layout/ActionsHead";
import { Table } from "@/components/layout/Page";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { formatDateTime, formatNumber } from "@/i18n/format";
import { useSettingWords } from "../settings/useSettingWords";
import styles from "./EvaluationTable.module.css";
import type { Evaluation, Figure } from "./evaluationQueries";
import { FigureChange, formatFigure } from "./FigureChange";

const COLUMNS: readonly Figure[] = ["recall_5", "recall_10", "mrr_10", "ndcg_10"];
const FIRST = 8;
// A measurement looks at ten passages, without the text around them.
const UNMEASURED = new Set(["top_k", "neighbours", "expand", "expand_tokens"]);

export function EvaluationTable({
  kbId,
  evaluations,
  canWrite,
}: {
  kbId: string;
  evaluations: readonly Evaluation[];
  canWrite: boolean;
}) {
  const { t } = useTranslation("search");
  const [all, setAll] = useState(false);
  const [leaving, setLeaving] = useState<Evaluation | null>(null);
  return (
    <>
      <Table
        label={t("evaluation.list")}
        head={
          <>
            <th scope="col">{t("evaluation.time")}</th>
            <th scope="col">{t("evaluation.questions")}</th>
            {COLUMNS.map((name) => (
              <th key={name} scope="col" title={t(`figure.hint.${name}`)}>
                {t(`figure.${name}`)}
              </th>
            ))}
            <th scope="col">{t("figure.p95_ms")}</th>
            <ActionsHead />
          </>
        }
      >
        {evaluations.slice(0, all ? undefined : FIRST).map((evaluation) => (
          <EvaluationRow
            key={evaluation.id}
            kbId={kbId}
            evaluation={evaluation}
            onDelete={canWrite ? () => setLeaving(evaluation) : null}
          />
        ))}
      </Table>
      {evaluations.length > FIRST && (
        <div>
          <Button size="s" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? t("evaluation.fewer") : t("evaluation.all", { count: evaluations.length })}
          </Button>
        </div>
      )}
      <DeleteDialog kbId={kbId} evaluation={leaving} onClose={() => setLeaving(null)} />
    </>
  );
}

function EvaluationRow({
  kbId,
  evaluation,
  onDelete,
}: {
  kbId: string;
  evaluation: Evaluation;
  onDelete: (() => void) | null;
}) {
  const { t } = useTranslation("search");
  const { id, created_at, metrics, change, settings } = evaluation;
  const time = formatDateTime(created_at);
  return (
    <tr>
      <td className={styles.time}>
        <Link to="/knowledge-bases/$kbId/evaluations/$evaluationId" params={{ kbId, evaluationId: id }}>
          {time}
        </Link>
        {change && (
          <Link
            to="/knowledge-bases/$kbId/evaluations/$evaluationId"
            params={{ kbId, evaluationId: id }}
            search={{ with: change.evaluation_id }}
            className={styles.compare}
          >
            {t("evaluation.compare")}
          </Link>
        )}
        <Choices settings={settings} />
      </td>
      <td className={styles.number}>
        {typeof settings.questions === "number" ? formatNumber(settings.questions) : "–"}
      </td>
      {COLUMNS.map((name) => (
        <td key={name} className={styles.number}>
          {formatFigure(metrics[name])}{" "}
          <FigureChange
            by={change?.figures[name]}
            muted={!change?.same_questions}
            title={t(change?.same_questions ? "evaluation.change" : "evaluation.other_questions")}
          />
        </td>
      ))}
      <td className={styles.number}>
        {metrics.p95_ms === undefined
          ? "–"
          : formatNumber(metrics.p95_ms, { style: "unit", unit: "millisecond", maximumFractionDigits: 0 })}
      </td>
      <td className={styles.actions}>
        {onDelete && (
          <IconButton icon={Trash2} size="s" label={t("evaluation.delete_this", { time })} onClick={onDelete} />
        )}
      </td>
    </tr>
  );
}

/** The options of the retrieval that were chosen, beside the defaults. */
function Choices({ settings }: { settings: Evaluation["settings"] }) {
  const words = useSettingWords();
  const { retrieval } = settings;
  if (typeof retrieval !== "object" || retrieval === null) return null;
  const chosen = Object.entries(retrieval).filter(([name, value]) => value !== null && !UNMEASURED.has(name));
  if (!chosen.length) return null;
  return (
    <p className={styles.choices}>
      {chosen.map(([name, value]) => `${words.name(name)}: ${words.value(value)}`).join(" · ")}
    </p>
  );
}

function DeleteDialog({
  kbId,
  evaluation,
  onClose,
}: {
  kbId: string;
  evaluation: Evaluation | null;
  onClose: () => void;
}) {
  const { t } = useTranslation(["search", "common"]);
  const queries = useQueryClient();
  async function remove() {
    if (!evaluation) return;
    const path = { kb_id: kbId, evaluation_id: evaluation.id };
    await callEmpty(api.DELETE("/api/v1/knowledge-bases/{kb_id}/evaluations/{evaluation_id}", { params: { path } }));
    await queries.invalidateQueries({ queryKey: ["evaluations", kbId] });
    notify(t("evaluation.deleted"));
  }
  return (
    <ConfirmDialog
      open={evaluation !== null}
      onClose={onClose}
      title={t("evaluation.delete")}
      description={t("evaluation.delete_hint", { time: evaluation ? formatDateTime(evaluation.created_at) : "" })}
      action={t("common:action.delete")}
      onConfirm={remove}
    />
  );
}

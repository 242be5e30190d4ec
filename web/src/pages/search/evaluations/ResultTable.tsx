/** What became of each question of a measurement; the first passages that it found stand behind it. */
import { Link } from "@tanstack/react-router";
import { Check, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { Table } from "@/components/layout/Page";
import { Disclosure } from "@/components/overlays/Disclosure";
import { precise } from "../results/ScorePath";
import type { QuestionResult } from "./evaluationQueries";
import styles from "./ResultTable.module.css";

const STEP = 50;

export function ResultTable({ kbId, results }: { kbId: string; results: readonly QuestionResult[] }) {
  const { t } = useTranslation("search");
  const [shown, setShown] = useState(STEP);
  if (!results.length) return <p>{t("evaluation.none_missed")}</p>;
  return (
    <>
      <Table
        label={t("evaluation.result_list")}
        head={
          <>
            <th scope="col">{t("question.question")}</th>
            <th scope="col">{t("evaluation.rank")}</th>
            <th scope="col">{t("evaluation.top")}</th>
          </>
        }
      >
        {results.slice(0, shown).map((result) => (
          <ResultRow key={result.question_id} kbId={kbId} result={result} />
        ))}
      </Table>
      {results.length > shown && (
        <div>
          <Button size="s" onClick={() => setShown(shown + STEP)}>
            {t("evaluation.more", { count: results.length - shown })}
          </Button>
        </div>
      )}
    </>
  );
}

function ResultRow({ kbId, result }: { kbId: string; result: QuestionResult }) {
  const { t } = useTranslation("search");
  const found = result.places.filter((place) => place !== null).length;
  return (
    <tr>
      <td className={styles.question}>
        <Link to="/knowledge-bases/$kbId/search" params={{ kbId }} search={{ q: result.question }}>
          {result.question}
        </Link>
      </td>
      <td className={styles.rank}>
        {result.rank === null ? (
          <Badge tone="danger">{t("result.missed")}</Badge>
        ) : (
          <Badge tone={result.rank === 1 ? "success" : result.rank <= 5 ? "info" : "warning"}>
            {t("path.rank", { rank: result.rank })}
          </Badge>
        )}
        {result.places.length > 1 && (
          <p className={styles.found}>{t("evaluation.found_of", { found, count: result.places.length })}</p>
        )}
      </td>
      <td className={styles.passages}>
        <Disclosure plain title={t("evaluation.passages", { count: result.top.length })}>
          <ol className={styles.top}>
            {result.top.map(({ chunk_id, document, score, is_right }) => (
              <li key={chunk_id}>
                {is_right ? (
                  <Check size={14} className={styles.right} aria-label={t("evaluation.right")} />
                ) : (
                  <X size={14} className={styles.wrong} aria-label={t("evaluation.wrong")} />
                )}
                {document}
                <span className={styles.score}>{precise(score)}</span>
              </li>
            ))}
          </ol>
          <p className={styles.expected}>
            {t("question.expected")}: {result.expected.map(({ document }) => document).join(", ")}
          </p>
        </Disclosure>
      </td>
    </tr>
  );
}

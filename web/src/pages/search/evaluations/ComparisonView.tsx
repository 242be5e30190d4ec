/** Two measurements compared: figures, settings, and question by question what got better or worse. */
import { Link } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Notice } from "@/components/feedback/Notice";
import { Table } from "@/components/layout/Page";
import { differences } from "../settings/settingsDifference";
import { useSettingWords } from "../settings/useSettingWords";
import styles from "./ComparisonView.module.css";
import { type Comparison, FIGURES } from "./evaluationQueries";
import { FigureChange, formatFigure } from "./FigureChange";

export function ComparisonView({ kbId, comparison }: { kbId: string; comparison: Comparison }) {
  const { t } = useTranslation("search");
  const { before, after, change, better, worse, unchanged, only_before, only_after } = comparison;
  return (
    <>
      <Table
        label={t("evaluation.comparison")}
        head={
          <>
            <th scope="col">{t("compared.figure")}</th>
            <th scope="col">{t("compared.before")}</th>
            <th scope="col">{t("compared.after")}</th>
            <th scope="col">{t("compared.change")}</th>
          </>
        }
      >
        {FIGURES.map((name) => (
          <tr key={name}>
            <th scope="row">{t(`figure.${name}`)}</th>
            <td>{formatFigure(before.metrics[name])}</td>
            <td>{formatFigure(after.metrics[name])}</td>
            <td>
              <FigureChange by={change[name]} />
            </td>
          </tr>
        ))}
      </Table>
      {only_before + only_after > 0 && (
        <Notice>{t("compared.other_questions", { before: only_before, after: only_after })}</Notice>
      )}
      <Differences before={before.settings} after={after.settings} />
      <MovedQuestions kbId={kbId} title={t("compared.worse", { count: worse.length })} moved={worse} tone="worse" />
      <MovedQuestions kbId={kbId} title={t("compared.better", { count: better.length })} moved={better} tone="better" />
      <p className={styles.unchanged}>{t("compared.unchanged", { count: unchanged })}</p>
    </>
  );
}

function Differences({ before, after }: { before: Record<string, unknown>; after: Record<string, unknown> }) {
  const { t } = useTranslation("search");
  const words = useSettingWords();
  const found = differences(before, after);
  return (
    <div>
      <h3>{t("compared.settings")}</h3>
      {found.length ? (
        <ul className={styles.differences}>
          {found.map((each) => (
            <li key={each.name}>
              {words.name(each.name)}: {words.value(each.before)} <ArrowRight size={13} aria-label={t("compared.to")} />{" "}
              <strong>{words.value(each.after)}</strong>
            </li>
          ))}
        </ul>
      ) : (
        <p className={styles.unchanged}>{t("compared.same_settings")}</p>
      )}
    </div>
  );
}

function MovedQuestions({
  kbId,
  title,
  moved,
  tone,
}: {
  kbId: string;
  title: string;
  moved: Comparison["better"];
  tone: "better" | "worse";
}) {
  const { t } = useTranslation("search");
  if (!moved.length) return null;
  const rank = (place: number | null) => (place === null ? t("result.missed") : t("path.rank", { rank: place }));
  return (
    <div className={styles.moved}>
      <h3 className={styles[tone]}>{title}</h3>
      <Table
        label={title}
        head={
          <>
            <th scope="col">{t("question.question")}</th>
            <th scope="col">{t("compared.rank_before")}</th>
            <th scope="col">{t("compared.rank_after")}</th>
          </>
        }
      >
        {moved.map((question) => (
          <tr key={question.question_id}>
            <td>
              <Link to="/knowledge-bases/$kbId/search" params={{ kbId }} search={{ q: question.question }}>
                {question.question}
              </Link>
            </td>
            <td>{rank(question.rank_before)}</td>
            <td className={styles[tone]}>{rank(question.rank)}</td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

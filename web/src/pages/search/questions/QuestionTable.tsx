/** The saved questions, a page at a time. */
import { Link } from "@tanstack/react-router";
import { Pencil, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import { IconButton } from "@/components/Button";
import { ActionsHead } from "@/components/layout/ActionsHead";
import { Table } from "@/components/layout/Page";
import type { SavedQuestion } from "../evaluations/evaluationQueries";
import styles from "./QuestionTable.module.css";

export function QuestionTable({
  kbId,
  questions,
  canWrite,
  onChange,
  onDelete,
}: {
  kbId: string;
  questions: readonly SavedQuestion[];
  canWrite: boolean;
  onChange: (question: SavedQuestion) => void;
  onDelete: (question: SavedQuestion) => void;
}) {
  const { t } = useTranslation(["search", "common"]);
  return (
    <Table
      label={t("question.list")}
      head={
        <>
          <th scope="col">{t("question.question")}</th>
          <th scope="col">{t("question.expected")}</th>
          {canWrite && <ActionsHead />}
        </>
      }
    >
      {questions.map((question) => (
        <tr key={question.id}>
          <td className={styles.question}>
            <Link
              to="/knowledge-bases/$kbId/search"
              params={{ kbId }}
              search={{ q: question.question }}
              title={t("question.try")}
            >
              {question.question}
            </Link>
          </td>
          <td className={styles.expected}>
            <ul>
              {question.expected.map(({ document, text }) => (
                <li key={`${document} ${text}`}>
                  <strong>{document}</strong>
                  <span className={styles.text}>{text || t("question.any_passage")}</span>
                </li>
              ))}
            </ul>
          </td>
          {canWrite && (
            <td className={styles.actions}>
              <IconButton
                icon={Pencil}
                size="s"
                label={t("question.change_this", { question: question.question })}
                onClick={() => onChange(question)}
              />
              <IconButton
                icon={Trash2}
                size="s"
                label={t("question.delete_this", { question: question.question })}
                onClick={() => onDelete(question)}
              />
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

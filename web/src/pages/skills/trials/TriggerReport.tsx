/** What a trigger test gave. */
import { Check, X } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Badge } from "@/components/feedback/Badge";
import { Section, Table } from "@/components/layout/Page";
import { formatNumber, formatPercent } from "@/i18n/format";
import styles from "./trials.module.css";

export type TriggerTestReport = Schemas["TriggerReport"];

export function TriggerReport({ report }: { report: TriggerTestReport }) {
  const { t } = useTranslation(["skills", "common"]);
  const confused = Object.entries(report.confusion);
  return (
    <Section title={t("tests.result", { number: report.version })}>
      <p className={styles.lead} role="status">
        {t("tests.result_what", {
          who: report.model ?? t("tests.offline"),
          count: report.neighbours,
        })}
      </p>
      <dl className={styles.rates}>
        {(["all", "train", "validation"] as const).map((split) => (
          <div key={split}>
            <dt>{t(`tests.split.${split}`, { count: report[split].queries })}</dt>
            <dd>
              {t("tests.recall")} <Rate value={report[split].recall} /> · {t("tests.precision")}{" "}
              <Rate value={report[split].precision} />
            </dd>
          </div>
        ))}
      </dl>
      <p className={styles.lead}>{t("tests.sets_what")}</p>
      {confused.length > 0 && (
        <p>{t("tests.confused", { names: confused.map(([slug, count]) => `${slug} (${count})`).join(", ") })}</p>
      )}
      <Table
        label={t("tests.result", { number: report.version })}
        head={
          <>
            <th>{t("tests.right")}</th>
            <th>{t("tests.query")}</th>
            <th>{t("tests.should")}</th>
            <th>{t("tests.chosen")}</th>
            <th>{t("tests.score")}</th>
            <th>{t("tests.part")}</th>
          </>
        }
      >
        {report.answers.map((answer) => (
          <AnswerRow key={`${answer.query}:${answer.should_trigger}`} answer={answer} />
        ))}
      </Table>
    </Section>
  );
}

function AnswerRow({ answer }: { answer: TriggerTestReport["answers"][number] }) {
  const { t } = useTranslation(["skills", "common"]);
  const isRight = answer.triggered === answer.should_trigger;
  return (
    <tr>
      <td>
        {isRight ? (
          <Check size={18} className={styles.right} aria-label={t("tests.is_right")} />
        ) : (
          <X size={18} className={styles.wrong} aria-label={t("tests.is_wrong")} />
        )}
      </td>
      <td className={styles.query}>{answer.query}</td>
      <td>{t(answer.should_trigger ? "tests.should_yes" : "tests.should_no")}</td>
      <td>{answer.chosen ? <code>{answer.chosen}</code> : t("tests.chose_nothing")}</td>
      <td>{formatNumber(answer.score, { maximumFractionDigits: 2 })}</td>
      <td>
        <Badge>{t(answer.split === "train" ? "tests.train" : "tests.validation")}</Badge>
      </td>
    </tr>
  );
}

export function Rate({ value }: { value: number | null }) {
  const { t } = useTranslation(["skills", "common"]);
  return <strong>{value === null ? t("tests.no_rate") : formatPercent(value)}</strong>;
}

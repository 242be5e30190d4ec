/** What the saved questions find with the present settings and with the new ones. */
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Table } from "@/components/layout/Page";
import { formatNumber, formatPercent } from "@/i18n/format";
import styles from "./Settings.module.css";

const FIGURES = ["recall_1", "recall_5", "recall_10", "mrr_10", "ndcg_10"] as const;

export function RecallTable({ recall, isOver }: { recall: Schemas["RecallAnswer"]; isOver: boolean }) {
  const { t } = useTranslation("knowledge");
  const show = (name: (typeof FIGURES)[number], value: number) =>
    name.startsWith("recall") ? formatPercent(value) : formatNumber(value, { maximumFractionDigits: 3 });
  return (
    <>
      <h3>{t("recall.title", { count: recall.questions })}</h3>
      <Table
        label={t("recall.title", { count: recall.questions })}
        head={
          <>
            <th>{t("recall.figure")}</th>
            <th>{t(isOver ? "recall.before" : "recall.present")}</th>
            <th>{t(isOver ? "recall.now" : "recall.target")}</th>
          </>
        }
      >
        {FIGURES.map((name) => {
          const change = recall.target[name] - recall.present[name];
          const look = change < -0.001 ? styles.worse : change > 0.001 ? styles.better : undefined;
          return (
            <tr key={name}>
              <td>{t(`recall.${name}`)}</td>
              <td>{show(name, recall.present[name])}</td>
              <td className={look}>{show(name, recall.target[name])}</td>
            </tr>
          );
        })}
      </Table>
    </>
  );
}

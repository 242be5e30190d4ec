/** What each condition came to, and the value that it met. */
import { Check, X } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Table } from "@/components/layout/Page";
import { inLanguage } from "@/i18n/inLanguage";
import styles from "./trace.module.css";

type Verdict = Schemas["ConditionVerdict"] | Schemas["GroupVerdict"];

export function VerdictTable({ verdicts }: { verdicts: readonly Verdict[] }) {
  const { t } = useTranslation("rules");
  return (
    <Table
      label={t("trace.label")}
      head={(["condition", "met", "verdict"] as const).map((column) => <th key={column}>{t(`trace.${column}`)}</th>)}
    >
      <VerdictRows verdicts={verdicts} depth={0} />
    </Table>
  );
}

function VerdictRows({ verdicts, depth }: { verdicts: readonly Verdict[]; depth: number }) {
  return verdicts.map((verdict, index) =>
    "conditions" in verdict ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: verdicts have no other identity
      <GroupRows key={index} group={verdict} depth={depth} />
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: verdicts have no other identity
      <ConditionRow key={index} verdict={verdict} depth={depth} />
    ),
  );
}

function GroupRows({ group, depth }: { group: Schemas["GroupVerdict"]; depth: number }) {
  const { t } = useTranslation("rules");
  return (
    <>
      <tr>
        <td colSpan={2} style={indent(depth)}>
          {t(group.negate ? "trace.negated" : "trace.group")}
        </td>
        <td>
          <VerdictMark holds={group.holds} />
        </td>
      </tr>
      <VerdictRows verdicts={group.conditions} depth={depth + 1} />
    </>
  );
}

function ConditionRow({ verdict, depth }: { verdict: Schemas["ConditionVerdict"]; depth: number }) {
  const { t } = useTranslation("rules");
  const { field, operator, holds, value, expected, explanation, explanation_zh } = verdict;
  const isPlain = operator === "exists" || operator === "changed";
  const reason = inLanguage(explanation, explanation_zh);
  return (
    <tr>
      <td style={indent(depth)}>
        <code>{field}</code> {t(`operator.${operator as "=="}`)}{" "}
        {expected && !(isPlain && expected !== "false") && <code>{expected}</code>}
      </td>
      <td className={styles.value}>{value === null ? t("trace.nothing") : <code>{value}</code>}</td>
      <td>
        <VerdictMark holds={holds} />
        {!holds && reason && <p className={styles.reason}>{reason}</p>}
      </td>
    </tr>
  );
}

function VerdictMark({ holds }: { holds: boolean }) {
  const { t } = useTranslation("rules");
  const Icon = holds ? Check : X;
  return (
    <span className={holds ? styles.holds : styles.fails}>
      <Icon size={15} aria-hidden /> {t(holds ? "trace.holds" : "trace.fails")}
    </span>
  );
}

const indent = (depth: number) => (depth ? { paddingInlineStart: `${depth * 1.5 + 0.75}rem` } : undefined);

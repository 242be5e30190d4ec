/** What a rule would do, and why. */
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Badge } from "@/components/feedback/Badge";
import { Notice } from "@/components/feedback/Notice";
import formStyles from "@/components/forms/Form.module.css";
import { formatDateTime } from "@/i18n/format";
import { inLanguage } from "@/i18n/inLanguage";
import styles from "../../trace/trace.module.css";
import { VerdictTable } from "../../trace/VerdictTable";

type DryRun = Schemas["DryRunAnswer"];
type Preview = Schemas["ActionPreviewAnswer"];

export function DryRunResult({ run }: { run: DryRun }) {
  const { t } = useTranslation("rules");
  const actions = run.dry_run_result.actions;
  return (
    <>
      <Outcome run={run} />
      {run.conditions.length > 0 ? (
        <VerdictTable verdicts={run.conditions} />
      ) : (
        <p className={formStyles.hint}>{t("dry_run.no_conditions")}</p>
      )}
      <ol className={styles.actions} aria-label={t("trace.actions")}>
        {actions.map((action, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: actions have no other identity
          <ActionPreview key={index} action={action} number={index + 1} />
        ))}
      </ol>
    </>
  );
}

function Outcome({ run }: { run: DryRun }) {
  const { t } = useTranslation("rules");
  const { status, cooldown, would_execute: acts, triggered } = run;
  const problem = inLanguage(run.problem, run.problem_zh);
  const missing = run.dry_run_result.actions.filter((action) => action.missing.length > 0).length;
  if (!triggered) return <Notice tone="warning">{t("dry_run.other_event")}</Notice>;
  if (!acts) {
    const until = cooldown.rests_until ? formatDateTime(cooldown.rests_until) : "";
    const key = (["not_met", "cooldown", "loop", "limit"] as const).find((each) => each === status) ?? "failed";
    return (
      <Notice tone={key === "failed" ? "danger" : "info"}>
        <p>{t(`dry_run.${key}`, { until })}</p>
        {problem && <p>{problem}</p>}
      </Notice>
    );
  }
  return (
    <Notice tone={missing ? "warning" : "success"}>
      <p>{t("dry_run.acts")}</p>
      {missing > 0 && <p>{t("dry_run.missing", { count: missing })}</p>}
    </Notice>
  );
}

function ActionPreview({ action, number }: { action: Preview; number: number }) {
  const { t } = useTranslation("rules");
  const { type, target, rendered_params: params, awaits_results: awaits } = action;
  const reasons = inLanguage(action.missing, action.missing_zh);
  return (
    <li className={styles.action}>
      <p className={styles.head}>
        <strong>{t("then.title", { number, type: t(`then.kind.${type as "notify"}`) })}</strong>
        {target && <code>{target}</code>}
        {awaits && <Badge>{t("dry_run.awaits")}</Badge>}
      </p>
      {reasons.map((reason) => (
        <p key={reason} className={styles.problem}>
          {reason}
        </p>
      ))}
      {Object.keys(params).length > 0 && <pre className={formStyles.code}>{JSON.stringify(params, null, 2)}</pre>}
    </li>
  );
}

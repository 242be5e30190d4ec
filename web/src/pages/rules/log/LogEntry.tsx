/** A rule at an event: what it decided, why, and what its actions did. */
import { FlaskConical } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { LinkButton } from "@/components/Button";
import { Badge, type Tone } from "@/components/feedback/Badge";
import { Notice } from "@/components/feedback/Notice";
import formStyles from "@/components/forms/Form.module.css";
import { Facts, Item } from "@/components/layout/ItemList";
import { Disclosure } from "@/components/overlays/Disclosure";
import { formatDateTime, formatNumber } from "@/i18n/format";
import { inLanguage } from "@/i18n/inLanguage";
import { PLATFORM, type RuleLogEntry, SCHEDULE } from "../ruleQueries";
import type { LogStatus } from "../searchParams";
import styles from "../trace/trace.module.css";
import { VerdictTable } from "../trace/VerdictTable";
import { useSources } from "../useSources";

const TONES: { readonly [Status in LogStatus]: Tone } = {
  success: "success",
  partial: "warning",
  failed: "danger",
  unknown: "danger",
  not_met: "neutral",
  cooldown: "neutral",
  limit: "warning",
  loop: "warning",
  pending: "info",
  running: "info",
};

export function LogEntry({ ruleId, entry }: { ruleId: string; entry: RuleLogEntry }) {
  const { t } = useTranslation("rules");
  const [isOpen, setOpen] = useState(false);
  const { status, event_type: type, executed_at, execution_time: took, rule_version: version } = entry;
  return (
    <Item
      title={formatDateTime(executed_at)}
      badges={<Badge tone={TONES[status]}>{t(`status.${status}`)}</Badge>}
      text={
        <p>
          <code>{type}</code>
          {took > 0 && ` · ${t("log.took", { milliseconds: formatNumber(took) })}`}
          {` · ${t("log.version", { version })}`}
        </p>
      }
      actions={
        <LinkButton
          size="s"
          variant="ghost"
          icon={FlaskConical}
          to="/rules/$ruleId"
          params={{ ruleId }}
          search={{ log: entry.id }}
          aria-label={t("log.again")}
          title={t("log.again")}
        >
          {t("log.try")}
        </LinkButton>
      }
    >
      <Disclosure title={t("log.details")} plain open={isOpen} onToggle={setOpen}>
        {isOpen && <EntryDetails entry={entry} />}
      </Disclosure>
    </Item>
  );
}

function EntryDetails({ entry }: { entry: RuleLogEntry }) {
  const { t } = useTranslation("rules");
  const sourceName = useSourceName();
  const { cooldown_key: key, event_id, conditions, event_data } = entry;
  return (
    <div className={formStyles.form}>
      {entry.status === "unknown" && <Notice tone="danger">{t("log.unknown_text")}</Notice>}
      <Facts
        facts={[
          [t("log.problem"), inLanguage(entry.problem, entry.problem_zh)],
          [t("log.source"), sourceName(entry)],
          [t("log.key"), key],
          [t("log.event_id"), event_id],
        ]}
      />
      {conditions.length > 0 ? (
        <VerdictTable verdicts={conditions} />
      ) : (
        <p className={formStyles.hint}>{t("dry_run.no_conditions")}</p>
      )}
      <ActionResults results={entry.actions_result as unknown as readonly ActionResult[]} />
      <div>
        <h3>{t("trace.data")}</h3>
        <pre className={formStyles.code}>{JSON.stringify(event_data, null, 2)}</pre>
      </div>
    </div>
  );
}

/** Where the event of an entry came from, in words. */
function useSourceName(): (entry: RuleLogEntry) => string {
  const { t } = useTranslation("rules");
  const { nameOf } = useSources();
  return ({ event_type: type, event_source_id: source }) => {
    if (source === PLATFORM) return t("when.platform");
    // Its source is the rule itself.
    return type === SCHEDULE ? t("when.schedule") : (nameOf(source) ?? source);
  };
}

/** What the log keeps of an action. */
interface ActionResult {
  type: "notify";
  target: string;
  status: "success" | "failed" | "unknown" | "skipped";
  error?: string;
  error_zh?: string;
  result?: unknown;
  duration?: number;
}

const RESULT_TONES = { success: "success", failed: "danger", unknown: "danger", skipped: "neutral" } as const;

function ActionResults({ results }: { results: readonly ActionResult[] }) {
  const { t } = useTranslation("rules");
  if (results.length === 0) return null;
  return (
    <ol className={styles.actions} aria-label={t("trace.actions")}>
      {results.map(({ type, target, status, error, error_zh, result, duration }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: actions have no other identity
        <li key={index} className={styles.action}>
          <p className={styles.head}>
            <strong>{t("then.title", { number: index + 1, type: t(`then.kind.${type}`) })}</strong>
            {target && <code>{target}</code>}
            <Badge tone={RESULT_TONES[status]}>{t(`status.${status}`)}</Badge>
            {duration !== undefined && t("log.took", { milliseconds: formatNumber(duration) })}
          </p>
          {error && <p className={styles.problem}>{inLanguage(error, error_zh)}</p>}
          {result !== undefined && <pre className={formStyles.code}>{JSON.stringify(result, null, 2)}</pre>}
        </li>
      ))}
    </ol>
  );
}

/** What was noticed in a text, with its place and its mend. */
import { CircleAlert, Info, TriangleAlert, Wrench } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import styles from "./ProblemList.module.css";
import { type CheckedText, type Diagnostic, type Fix, messageOf, titleOf } from "./source/diagnostics";

const ICONS = { error: CircleAlert, warning: TriangleAlert, info: Info } as const;

const RANK = { error: 0, warning: 1, info: 2 } as const;

interface Props {
  checkedText: CheckedText | null;
  error: unknown;
  /** Whether the verdict is about the text as it stands now. */
  isFresh: boolean;
  readOnly: boolean;
  onFix: (fixes: Fix[]) => void;
  onReveal: (line: number, column: number) => void;
}

export function ProblemList({ checkedText, error, isFresh, readOnly, onFix, onReveal }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  // Errors first; otherwise in the order of the file.
  const found = (checkedText?.report.diagnostics ?? []).toSorted(
    (one, other) => RANK[one.severity] - RANK[other.severity],
  );
  const fixes = found.flatMap((diagnostic) => diagnostic.fix ?? []);
  return (
    <section className={styles.panel} aria-label={t("problems.title")}>
      <header className={styles.header}>
        <h2>{t("problems.title")}</h2>
        <p className={styles.counts} role="status">
          {checkedText ? <Counts found={found} /> : t("problems.checking")}
        </p>
        {!readOnly && fixes.length > 1 && (
          <Button size="s" icon={Wrench} disabled={!isFresh} onClick={() => onFix(fixes)}>
            {t("problems.fix_all", { count: fixes.length })}
          </Button>
        )}
      </header>
      {error !== null && error !== undefined && <ErrorNotice error={error} />}
      {found.length > 0 && (
        <ul className={styles.list}>
          {found.map((diagnostic) => (
            <Problem
              key={`${diagnostic.code}:${diagnostic.line}:${diagnostic.column}:${diagnostic.message}`}
              {...{ diagnostic, isFresh, readOnly, onFix, onReveal }}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

function Counts({ found }: { found: Diagnostic[] }) {
  const { t } = useTranslation(["skills", "common"]);
  if (!found.length) return t("problems.none");
  const count = (severity: Diagnostic["severity"]) => found.filter((one) => one.severity === severity).length;
  const [errors, warnings, hints] = [count("error"), count("warning"), count("info")];
  return [
    errors && t("problems.errors", { count: errors }),
    warnings && t("problems.warnings", { count: warnings }),
    hints && t("problems.hints", { count: hints }),
  ]
    .filter(Boolean)
    .join(" · ");
}

function Problem({
  diagnostic,
  isFresh,
  readOnly,
  onFix,
  onReveal,
}: { diagnostic: Diagnostic } & Omit<Props, "checkedText" | "error">) {
  const { t } = useTranslation(["skills", "common"]);
  const { code, severity, line, column, fix } = diagnostic;
  const Icon = ICONS[severity];
  return (
    <li className={styles.problem}>
      <Icon size={16} className={styles[severity]} aria-label={t(`problems.severity.${severity}`)} />
      <button type="button" className={styles.message} onClick={() => onReveal(line, column)}>
        <span>{messageOf(diagnostic)}</span>
        <span className={styles.place}>{t("problems.place", { line, column, code })}</span>
      </button>
      {fix && !readOnly && (
        <Button size="s" icon={Wrench} disabled={!isFresh} onClick={() => onFix([fix])}>
          {titleOf(fix)}
        </Button>
      )}
    </li>
  );
}

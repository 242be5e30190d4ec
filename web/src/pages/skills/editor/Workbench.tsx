/** The place where a skill is written: text, form and preview of one truth, and what is wrong with it. */
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Skeleton } from "@/components/Page";
import type { SideSearch } from "../searchParams";
import { SkillForm } from "./form/SkillForm";
import { ProblemList } from "./ProblemList";
import { type Fix, withFixes } from "./source/diagnostics";
import type { SourceEditorHandle } from "./source/SourceEditor";
import { useFormEdits } from "./useFormEdits";
import { useSkillReport } from "./useSkillReport";
import styles from "./Workbench.module.css";

const SourceEditor = lazy(() => import("./source/SourceEditor").then((module) => ({ default: module.SourceEditor })));
const SkillPreview = lazy(() => import("./SkillPreview").then((module) => ({ default: module.SkillPreview })));

interface Props {
  text: string;
  onText: (text: string) => void;
  /** Called once everything that was typed is in the text, with the text. */
  onSave: (text: string) => void;
  skillId: string | null;
  readOnly: boolean;
  side: SideSearch["side"];
  /** Links that choose the side. */
  sideLinks: ReactNode;
  /** The row of buttons; `save` saves. */
  toolbar: (save: () => void) => ReactNode;
}

export function Workbench({ text, onText, onSave, skillId, readOnly, side, sideLinks, toolbar }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const editor = useRef<SourceEditorHandle>(null);
  const latest = useRef(text);
  useEffect(() => {
    latest.current = text;
  }, [text]);
  const takeText = useCallback(
    (next: string) => {
      latest.current = next;
      onText(next);
    },
    [onText],
  );
  const { checkedText, error } = useSkillReport(text, skillId);
  const edits = useFormEdits(
    useCallback(() => latest.current, []),
    takeText,
    skillId,
  );
  const isFresh = checkedText?.text === text;
  const fix = (fixes: readonly Fix[]) => {
    if (checkedText?.text === latest.current) takeText(withFixes(checkedText.text, fixes));
  };
  async function save() {
    // A field gives its value when it is left.
    if (document.activeElement instanceof HTMLElement && document.activeElement.closest("[data-form]"))
      document.activeElement.blur();
    await edits.settled();
    onSave(latest.current);
  }
  useSaveShortcut(() => {
    if (!readOnly) void save();
  });
  return (
    <div className={styles.workbench}>
      {!readOnly && <div className={styles.toolbar}>{toolbar(() => void save())}</div>}
      <div className={styles.text}>
        <Suspense fallback={<Skeleton lines={12} />}>
          <SourceEditor
            ref={editor}
            value={text}
            onChange={takeText}
            onFix={(one) => fix([one])}
            checkedText={checkedText}
            readOnly={readOnly}
          />
        </Suspense>
      </div>
      <div className={styles.side}>
        <nav className={styles.sideLinks} aria-label={t("editor.side")}>
          {sideLinks}
        </nav>
        <div className={styles.sideBody} data-form>
          {checkedText ? (
            <Suspense fallback={<Skeleton lines={6} />}>
              {side === "preview" ? (
                <SkillPreview report={checkedText.report} />
              ) : (
                <SkillForm parsed={checkedText.report.parsed} edits={edits} readOnly={readOnly} />
              )}
            </Suspense>
          ) : (
            <Skeleton lines={6} />
          )}
        </div>
      </div>
      <div className={styles.problems}>
        <ProblemList
          checkedText={checkedText}
          error={error}
          isFresh={isFresh}
          readOnly={readOnly}
          onFix={fix}
          onReveal={(line, column) => editor.current?.reveal(line, column)}
        />
      </div>
    </div>
  );
}

/** Ctrl-S, or Cmd-S, wherever the focus is while the page is open. */
function useSaveShortcut(save: () => void): void {
  const latest = useRef(save);
  useEffect(() => {
    latest.current = save;
  });
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent) {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "s") return;
      event.preventDefault();
      latest.current();
    }
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}

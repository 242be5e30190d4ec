/** The place where a skill is written: text, form and preview of one truth, and what is wrong with it. */
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useRef } from "react";
import { Skeleton } from "@/components/layout/Page";
import type { SideSearch } from "../searchParams";
import { SkillForm } from "./form/SkillForm";
import { ProblemList } from "./ProblemList";
import { type EditorAddress, SideTabs, useTextShown } from "./SideTabs";
import { type CheckedText, type Fix, withFixes } from "./source/diagnostics";
import type { SourceEditorHandle } from "./source/SourceEditor";
import { useCompletionData } from "./source/useCompletionData";
import { type FormEdits, useFormEdits } from "./useFormEdits";
import { useSaveShortcut } from "./useSaveShortcut";
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
  from: EditorAddress;
  side: SideSearch["side"];
  /** The row of buttons; `save` saves. */
  toolbar: (save: () => void) => ReactNode;
}

export function Workbench({ text, onText, onSave, skillId, readOnly, from, side, toolbar }: Props) {
  const editor = useRef<SourceEditorHandle>(null);
  const [isTextShown, setTextShown] = useTextShown();
  const { latest, takeText } = useLatestText(text, onText);
  const { checkedText, error } = useSkillReport(text, skillId);
  const currentText = useCallback(() => latest.current, [latest]);
  const edits = useFormEdits(currentText, takeText, skillId);
  const completions = useCompletionData(checkedText?.report.parsed ?? null);
  const fix = (fixes: readonly Fix[]) => {
    if (checkedText?.text === latest.current) takeText(withFixes(checkedText.text, fixes));
  };
  const save = () => void leaveForm(edits).then(() => onSave(latest.current));
  useSaveShortcut(() => {
    if (!readOnly) save();
  });
  const wanted = useRef<[number, number] | null>(null);
  function reveal(line: number, column: number) {
    wanted.current = editor.current ? null : [line, column];
    setTextShown(true);
    editor.current?.reveal(line, column);
  }
  const takeEditor = useCallback((handle: SourceEditorHandle | null) => {
    editor.current = handle;
    if (handle && wanted.current) handle.reveal(...wanted.current);
    if (handle) wanted.current = null;
  }, []);
  return (
    <div className={[styles.workbench, !isTextShown && styles.alone].filter(Boolean).join(" ")}>
      {!readOnly && <div className={styles.toolbar}>{toolbar(save)}</div>}
      {isTextShown && (
        <div className={styles.text}>
          <Suspense fallback={<Skeleton lines={12} />}>
            <SourceEditor
              ref={takeEditor}
              value={text}
              onChange={takeText}
              onFix={(chosen) => fix([chosen])}
              completions={completions}
              {...{ checkedText, readOnly }}
            />
          </Suspense>
        </div>
      )}
      <div className={styles.side}>
        <SideTabs {...{ from, side, isTextShown }} onTextShown={setTextShown} />
        <SideBody {...{ checkedText, side, edits, readOnly }} />
      </div>
      <div className={styles.problems}>
        <ProblemList
          isFresh={checkedText?.text === text}
          onFix={fix}
          onReveal={reveal}
          {...{ checkedText, error, readOnly }}
        />
      </div>
    </div>
  );
}

interface SideBodyProps {
  checkedText: CheckedText | null;
  side: SideSearch["side"];
  edits: FormEdits;
  readOnly: boolean;
}

function SideBody({ checkedText, side, edits, readOnly }: SideBodyProps) {
  return (
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
  );
}

/** The text as it is now, also between two renders. */
function useLatestText(text: string, onText: (text: string) => void) {
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
  return { latest, takeText };
}

/** Wait until the form's fields are in the text: a field gives its value when it is left. */
async function leaveForm(edits: FormEdits): Promise<void> {
  if (document.activeElement instanceof HTMLElement && document.activeElement.closest("[data-form]"))
    document.activeElement.blur();
  await edits.settled();
}

/** A Markdown editor with diagnostics at their lines. */
import { setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { type Ref, useEffect, useImperativeHandle, useRef } from "react";
import { useTranslation } from "react-i18next";
import { shadowRootOf } from "@/components/source/shadow";
import { bytePositions, lineBreakOf } from "./bytePositions";
import type { CompletionData } from "./completions";
import { type CheckedText, messageOf, placeOf, titleOf } from "./diagnostics";
import { editorExtensions } from "./editorExtensions";
import { minimalChange } from "./minimalChange";
import { usePhrases } from "./phrases";
import { ReportedTexts } from "./ReportedTexts";
import styles from "./SourceEditor.module.css";

export interface SourceEditorHandle {
  /** Put the cursor at a place, lines and columns from 1, and show it. */
  reveal: (line: number, column: number) => void;
}

interface Props {
  value: string;
  onChange: (value: string) => void;
  onFix: (fix: NonNullable<CheckedText["report"]["diagnostics"][number]["fix"]>) => void;
  checkedText: CheckedText | null;
  completions: CompletionData;
  readOnly: boolean;
  ref?: Ref<SourceEditorHandle>;
}

/** The editor's own text; its line breaks are those of the file. */
function textOf(state: EditorState): string {
  return state.sliceDoc();
}

export function SourceEditor({ value, onChange, onFix, checkedText, completions, readOnly, ref }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const phrases = usePhrases();
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const placeToReveal = useRef<Place | null>(null);
  const reported = useRef(new ReportedTexts());
  const latest = useRef({ value, onChange, onFix, completions });
  useEffect(() => {
    latest.current = { value, onChange, onFix, completions };
  });
  const label = t("editor.source");
  const lineBreak = lineBreakOf(value);

  useEffect(() => {
    const shadow = shadowRootOf(host.current as HTMLDivElement);
    reported.current = new ReportedTexts();
    const editor = new EditorView({
      root: shadow,
      parent: shadow,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          editorExtensions({ lineBreak, readOnly, phrases, label }, () => latest.current.completions),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            const text = textOf(update.state);
            reported.current.add(text);
            latest.current.onChange(text);
          }),
        ],
      }),
    });
    view.current = editor;
    if (placeToReveal.current) reveal(editor, placeToReveal.current);
    placeToReveal.current = null;
    return () => {
      editor.destroy();
      view.current = null;
    };
  }, [lineBreak, readOnly, phrases, label]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || reported.current.takeBack(value)) return;
    show(editor, value);
    // The value is this text already, so it will not come back.
    reported.current = new ReportedTexts();
  }, [value]);

  useEffect(() => {
    const editor = view.current;
    // What was said of another text is shown once the text that stands here was checked.
    if (!editor || !checkedText || checkedText.text !== textOf(editor.state)) return;
    const { doc } = editor.state;
    const found = checkedText.report.diagnostics.map((diagnostic) => {
      const { fix } = diagnostic;
      return {
        ...placeOf(doc, diagnostic),
        severity: diagnostic.severity,
        source: diagnostic.code,
        message: messageOf(diagnostic),
        actions: fix && !readOnly ? [{ name: titleOf(fix), apply: () => latest.current.onFix(fix) }] : [],
      };
    });
    editor.dispatch(setDiagnostics(editor.state, found));
  }, [checkedText, readOnly]);

  useImperativeHandle(ref, () => ({
    reveal(line, column) {
      const place = { line, column, end_line: line };
      if (view.current) reveal(view.current, place);
      // The editor is not there yet.
      else placeToReveal.current = place;
    },
  }));

  return <div ref={host} className={styles.host} />;
}

type Place = Parameters<typeof placeOf>[1];

/** Put the cursor at a place, and show it. */
function reveal(editor: EditorView, place: Place): void {
  const { from } = placeOf(editor.state.doc, place);
  editor.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  editor.focus();
}

/** Replace what differs alone, so that cursor and history stay. */
function show(editor: EditorView, value: string): void {
  const now = textOf(editor.state);
  const change = minimalChange(now, value);
  if (!change) return;
  const { lineBreak } = editor.state;
  if (lineBreak === "\n") {
    editor.dispatch({ changes: { ...change, insert: editor.state.toText(change.insert) } });
    return;
  }
  // Places of the text and of the document differ; bytes are not at issue, lengths are.
  const encoder = new TextEncoder();
  const at = bytePositions(now, lineBreak);
  const bytes = (end: number) => encoder.encode(now.slice(0, end)).length;
  // Never between the two signs of a line break.
  const from = now[change.from - 1] === "\r" ? change.from - 1 : change.from;
  const to = now[change.to] === "\n" && now[change.to - 1] === "\r" ? change.to + 1 : change.to;
  const insert = value.slice(from, value.length - (now.length - to));
  editor.dispatch({ changes: { from: at(bytes(from)), to: at(bytes(to)), insert: editor.state.toText(insert) } });
}

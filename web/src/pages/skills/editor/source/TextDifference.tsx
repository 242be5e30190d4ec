/** Two texts as one, with what was taken out and put in marked. */
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { lineBreakOf } from "./bytePositions";
import { skillMarkdown } from "./markdown";
import { usePhrases } from "./phrases";
import styles from "./SourceEditor.module.css";
import { shadowRootOf } from "./shadow";
import { sourceTheme } from "./theme";

interface Props {
  before: string;
  after: string;
  label: string;
  /** Given, each difference can be kept or taken back, and the text be written on. */
  onChange?: (text: string) => void;
}

export function TextDifference({ before, after, label, onChange }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const phrases = usePhrases();
  const latest = useRef(onChange);
  useEffect(() => {
    latest.current = onChange;
  });
  const isMerge = onChange !== undefined;
  useEffect(() => {
    const shadow = shadowRootOf(host.current as HTMLDivElement);
    const editor = new EditorView({
      root: shadow,
      parent: shadow,
      state: EditorState.create({
        doc: after,
        extensions: [
          EditorState.lineSeparator.of(lineBreakOf(after)),
          EditorState.readOnly.of(!isMerge),
          EditorState.phrases.of(phrases),
          lineNumbers(),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          skillMarkdown,
          unifiedMergeView({
            original: before,
            mergeControls: isMerge && ((decision, decide) => decisionButton(phrases, decision, decide)),
            highlightChanges: true,
            collapseUnchanged: { margin: 3, minSize: 6 },
          }),
          sourceTheme,
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current?.(update.state.sliceDoc());
          }),
        ],
      }),
    });
    return () => editor.destroy();
  }, [before, after, label, phrases, isMerge]);
  return <div ref={host} className={styles.difference} />;
}

/** A button at a difference, for the keyboard too: the usual ones know the mouse alone. */
function decisionButton(
  phrases: Record<string, string>,
  decision: "accept" | "reject",
  decide: (event: MouseEvent) => void,
): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.name = decision;
  button.textContent = phrases[decision === "accept" ? "Accept" : "Reject"] ?? "";
  button.onclick = decide;
  return button;
}

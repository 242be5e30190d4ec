/** Two texts as one, with what was taken out and put in marked. */
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import styles from "./Difference.module.css";
import { shadowRootOf } from "./shadow";
import { sourceTheme } from "./theme";

export interface DifferenceProps {
  before: string;
  after: string;
  label: string;
  /** Given, each difference can be kept or taken back, and the text be written on. */
  onChange?: ((text: string) => void) | undefined;
}

interface Props extends DifferenceProps {
  /** The editor's own words in the person's language; the same object as long as they are. */
  phrases: Record<string, string>;
  /** Such as the language of the texts; the same object as long as it is. */
  extension?: Extension;
}

const NONE: Extension = [];

export function Difference({ before, after, label, phrases, extension = NONE, onChange }: Props) {
  const host = useRef<HTMLDivElement>(null);
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
          EditorState.readOnly.of(!isMerge),
          EditorState.phrases.of(phrases),
          lineNumbers(),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          extension,
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
  }, [before, after, label, phrases, extension, isMerge]);
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

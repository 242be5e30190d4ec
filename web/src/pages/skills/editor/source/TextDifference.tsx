/** Two texts as one, with what was taken out and put in marked. */
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { skillMarkdown } from "./markdown";
import { usePhrases } from "./phrases";
import styles from "./SourceEditor.module.css";
import { shadowRootOf } from "./shadow";
import { sourceTheme } from "./theme";

export function TextDifference({ before, after, label }: { before: string; after: string; label: string }) {
  const host = useRef<HTMLDivElement>(null);
  const phrases = usePhrases();
  useEffect(() => {
    const shadow = shadowRootOf(host.current as HTMLDivElement);
    const editor = new EditorView({
      root: shadow,
      parent: shadow,
      state: EditorState.create({
        doc: after,
        extensions: [
          EditorState.readOnly.of(true),
          EditorState.phrases.of(phrases),
          lineNumbers(),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label }),
          skillMarkdown,
          unifiedMergeView({
            original: before,
            mergeControls: false,
            highlightChanges: true,
            collapseUnchanged: { margin: 3, minSize: 6 },
          }),
          sourceTheme,
        ],
      }),
    });
    return () => editor.destroy();
  }, [before, after, label, phrases]);
  return <div ref={host} className={styles.difference} />;
}

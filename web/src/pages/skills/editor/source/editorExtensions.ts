/** What the editor of a skill's text is put together from. */
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { sourceTheme } from "@/components/source/theme";
import { type CompletionData, skillCompletions } from "./completions";
import { skillMarkdown } from "./markdown";

interface Options {
  lineBreak: string;
  readOnly: boolean;
  /** The editor's own texts, translated. */
  phrases: Record<string, string>;
  label: string;
}

/** `completions` gives what may be completed at that moment. */
export function editorExtensions(
  { lineBreak, readOnly, phrases, label }: Options,
  completions: () => CompletionData,
): Extension {
  return [
    EditorState.lineSeparator.of(lineBreak),
    EditorState.readOnly.of(readOnly),
    EditorState.phrases.of(phrases),
    lineNumbers(),
    lintGutter(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    bracketMatching(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    search({ top: true }),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
    autocompletion({ override: [skillCompletions(completions)], icons: false }),
    keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap]),
    skillMarkdown,
    sourceTheme,
  ];
}

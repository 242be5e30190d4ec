/** Looks of the editor: colours come from the page's tokens, which reach into the shadow root. */
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const looks = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "0.875rem" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.65", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)", padding: "0.75rem 0" },
  ".cm-line": { padding: "0 0.75rem" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--surface-2) 55%, transparent)" },
  ".cm-gutters": {
    backgroundColor: "var(--surface)",
    color: "var(--ink-2)",
    border: "none",
    borderRight: "1px solid var(--line)",
  },
  ".cm-activeLineGutter": { backgroundColor: "var(--surface-2)" },
  ".cm-panels": { backgroundColor: "var(--surface-2)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panel.cm-search": { fontFamily: "var(--font)", padding: "0.5rem", fontSize: "0.8125rem" },
  ".cm-textfield": {
    backgroundColor: "var(--surface)",
    color: "var(--ink)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius-s)",
    padding: "0.25rem 0.5rem",
  },
  ".cm-button": {
    backgroundImage: "none",
    backgroundColor: "var(--surface)",
    color: "var(--ink)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius-s)",
    padding: "0.25rem 0.6rem",
  },
  ".cm-searchMatch": { backgroundColor: "var(--mark)" },
  ".cm-searchMatch-selected": { outline: "1px solid var(--accent)" },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "var(--radius-m)",
    boxShadow: "var(--shadow)",
    fontFamily: "var(--font)",
    maxWidth: "34rem",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "0.8125rem", padding: "0.25rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.2rem 0.5rem", borderRadius: "var(--radius-s)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-tooltip.cm-tooltip-lint": { padding: "0.25rem" },
  ".cm-diagnostic": { padding: "0.4rem 0.75rem", borderLeftWidth: "3px", whiteSpace: "normal" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--danger)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warning)" },
  ".cm-diagnostic-info": { borderLeftColor: "var(--info)" },
  ".cm-diagnosticAction": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
    borderRadius: "var(--radius-s)",
    padding: "0.2rem 0.6rem",
    font: "inherit",
  },
  // The usual marks are pictures in data: addresses; a line of text does without.
  ".cm-lintRange": { backgroundImage: "none", textDecorationLine: "underline", textDecorationStyle: "wavy" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecorationColor: "var(--danger)" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecorationColor: "var(--warning)" },
  ".cm-lintRange-info": { backgroundImage: "none", textDecorationColor: "var(--info)" },
  ".cm-lint-marker": { width: "0.65rem", height: "0.65rem", content: "normal !important", borderRadius: "50%" },
  ".cm-gutter-lint": { width: "1.1rem" },
  ".cm-gutter-lint .cm-gutterElement": { display: "grid", placeItems: "center", padding: "0" },
  ".cm-lint-marker-error": { backgroundColor: "var(--danger)" },
  ".cm-lint-marker-warning": { backgroundColor: "var(--warning)", borderRadius: "2px" },
  ".cm-lint-marker-info": { backgroundColor: "var(--info)" },
});

const differences = EditorView.theme({
  ".cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--success-soft) !important" },
  ".cm-changedText": { background: "color-mix(in srgb, var(--success) 25%, transparent) !important" },
  ".cm-deletedChunk": { backgroundColor: "var(--danger-soft) !important", paddingLeft: "0.75rem" },
  ".cm-deletedChunk .cm-deletedText": { background: "color-mix(in srgb, var(--danger) 25%, transparent) !important" },
  ".cm-collapsedLines": {
    background: "var(--surface-2)",
    color: "var(--ink-2)",
    fontFamily: "var(--font)",
    padding: "0.3rem 0.75rem",
  },
  // The usual signs are in few fonts.
  ".cm-collapsedLines::before, .cm-collapsedLines::after": { content: '"⋯"', margin: "0 0.4rem" },
  ".cm-chunkButtons": { fontFamily: "var(--font)" },
  ".cm-deletedChunk .cm-chunkButtons button": {
    borderRadius: "var(--radius-s)",
    padding: "0.1rem 0.5rem",
    fontSize: "0.75rem",
  },
  ".cm-deletedChunk .cm-chunkButtons button[name=accept]": { background: "var(--success)", color: "var(--surface)" },
  ".cm-deletedChunk .cm-chunkButtons button[name=reject]": { background: "var(--danger)", color: "var(--surface)" },
  ".cm-changeGutter": { width: "3px" },
  ".cm-changedLineGutter": { background: "var(--success)" },
  ".cm-deletedLineGutter": { background: "var(--danger)" },
});

const syntax = HighlightStyle.define([
  { tag: tags.heading1, color: "var(--accent)", fontWeight: "700" },
  { tag: tags.heading, color: "var(--accent)", fontWeight: "650" },
  { tag: tags.strong, fontWeight: "700" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.monospace, color: "var(--info)" },
  { tag: [tags.link, tags.url], color: "var(--info)" },
  { tag: tags.quote, color: "var(--ink-2)" },
  { tag: [tags.meta, tags.processingInstruction, tags.contentSeparator], color: "var(--ink-2)" },
  { tag: tags.comment, color: "var(--ink-2)", fontStyle: "italic" },
]);

export const sourceTheme = [looks, differences, syntaxHighlighting(syntax)];

/** What the server says of a text, for the editor and the list of problems. */
import type { Text } from "@codemirror/state";
import type { Schemas } from "@/api/client";
import { currentLanguage } from "@/i18n";
import { bytePositions } from "./bytePositions";

export type Diagnostic = Schemas["Diagnostic"];
export type Fix = Schemas["Fix"];
type Edit = Fix["edits"][number];

/** A report, and the text that it is about. */
export interface CheckedText {
  text: string;
  report: Schemas["ReportAnswer"];
}

export function messageOf(diagnostic: { message: string; message_zh: string }): string {
  return currentLanguage() === "zh" ? diagnostic.message_zh : diagnostic.message;
}

export function titleOf(fix: Fix): string {
  return currentLanguage() === "zh" ? fix.title_zh : fix.title;
}

/** The span of a diagnostic in a document: from its place to the end of that line. */
export function placeOf(
  doc: Text,
  { line, column }: Pick<Diagnostic, "line" | "column" | "end_line">,
): { from: number; to: number } {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  // Columns count characters, of which some are two places.
  const before = [...at.text].slice(0, Math.max(0, column - 1)).join("").length;
  return { from: at.from + before, to: Math.max(at.from + before, at.to) };
}

/** A text with fixes applied; those that overlap one before them are left for the next time. */
export function withFixes(text: string, fixes: readonly Fix[]): string {
  // In the text itself, unlike in the editor's document, a line break of two signs has two places.
  const at = bytePositions(text, "\n");
  const taken: Edit[] = [];
  for (const fix of fixes)
    if (!fix.edits.some((edit) => taken.some((other) => overlap(edit, other)))) taken.push(...fix.edits);
  taken.sort((left, right) => right.start - left.start);
  let mended = text;
  for (const edit of taken) mended = mended.slice(0, at(edit.start)) + edit.replacement + mended.slice(at(edit.end));
  return mended;
}

function overlap(left: Edit, right: Edit): boolean {
  if (left.start === right.start) return true;
  return left.start < right.end && right.start < left.end;
}

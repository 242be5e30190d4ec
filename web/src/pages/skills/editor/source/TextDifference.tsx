/** Two texts of a skill as one, with what was taken out and put in marked. */
import { EditorState } from "@codemirror/state";
import { useMemo } from "react";
import { Difference, type DifferenceProps } from "@/components/source/Difference";
import { lineBreakOf } from "./bytePositions";
import { skillMarkdown } from "./markdown";
import { usePhrases } from "./phrases";

export function TextDifference(props: DifferenceProps) {
  const lineBreak = lineBreakOf(props.after);
  const extension = useMemo(() => [EditorState.lineSeparator.of(lineBreak), skillMarkdown], [lineBreak]);
  return <Difference {...props} phrases={usePhrases()} extension={extension} />;
}

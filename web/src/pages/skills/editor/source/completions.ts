/** What can be completed in a skill's text: sections, fields of the frontmatter, inputs, types and tools. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";

/** What is known of the text and of the agents that will use it. */
export interface CompletionData {
  tools: readonly string[];
  params: readonly string[];
}

/** Headings of the format, the usual ones of each language, in the order in which they are written. */
const SECTIONS = {
  en: [
    ...["Description", "When to use", "When not to use", "Inputs", "Steps", "Outputs", "Examples"],
    ...["Constraints", "Tools", "Prerequisites", "Error handling", "References", "Metadata"],
  ],
  zh: [
    ...["描述", "触发条件", "不适用场景", "输入参数", "步骤", "输出", "示例"],
    ...["约束", "工具", "前置条件", "错误处理", "参考", "元数据"],
  ],
} as const;

const FIELDS = ["name", "description", "license", "compatibility", "allowed-tools", "metadata"];
const METADATA = ["category", "tags", "strict", "slug", "version", "author"];
const TYPES = ["string", "integer", "number", "boolean", "array<string>", "object", "enum", "date", "datetime", "file"];
const ATTRIBUTES = {
  en: ["required", "optional", "default: ", "enum: ", "example: ", "min ", "max ", "pattern "],
  zh: ["必填", "可选", "默认: ", "枚举: ", "示例: ", "min ", "max ", "pattern "],
} as const;

const WORD = /^[\p{L}\p{N}_.-]*$/u;

/** A source of completions; `data` gives what is known at that time. */
export function skillCompletions(data: () => CompletionData) {
  return (context: CompletionContext): CompletionResult | null => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const found = inFrontmatter(context, line.number)
      ? frontmatterChoices(before, data())
      : bodyChoices(before, data(), isChinese(context.state.doc.sliceString(0, 2000)) ? "zh" : "en");
    if (!found) return null;
    return { from: context.pos - found.typed.length, options: found.options, validFor: WORD };
  };
}

interface CompletionChoices {
  typed: string;
  options: Completion[];
}

function frontmatterChoices(before: string, { tools }: CompletionData): CompletionChoices | null {
  const listed = /^\s*(?:allowed-tools\s*:.*?|-\s*)([\w.-]*)$/.exec(before);
  if (listed) return { typed: listed[1] ?? "", options: tools.map((label) => ({ label, type: "function" })) };
  const key = /^(\s*)([\w-]*)$/.exec(before);
  if (!key) return null;
  const keys = key[1] ? METADATA : FIELDS;
  return { typed: key[2] ?? "", options: keys.map((label) => ({ label, apply: `${label}: `, type: "property" })) };
}

function bodyChoices(
  before: string,
  { tools, params }: CompletionData,
  language: "en" | "zh",
): CompletionChoices | null {
  const heading = /^##\s+(\S*)$/.exec(before);
  if (heading)
    return { typed: heading[1] ?? "", options: SECTIONS[language].map((label) => ({ label, type: "class" })) };
  const input = /\{\{\s*([\w\p{L}.-]*)$/u.exec(before);
  if (input)
    return {
      typed: input[1] ?? "",
      options: params.map((label) => ({ label, apply: `${label}}}`, type: "variable" })),
    };
  // `- `name` (string, req`: what an input is.
  const attribute = /^\s*[-*]\s+\S+\s*[(（](?:[^()（）]*[,，]\s*)?([\p{L}]*)$/u.exec(before);
  if (attribute) {
    const isFirst = !/[,，]/.test(before);
    const labels = isFirst ? TYPES : ATTRIBUTES[language];
    return { typed: attribute[1] ?? "", options: labels.map((label) => ({ label, type: "type" })) };
  }
  const code = /`([\w.-]*)$/.exec(before);
  // An even number of marks: the one that was typed last ends a name.
  if (!code || (before.match(/`/g)?.length ?? 0) % 2 === 0) return null;
  return { typed: code[1] ?? "", options: tools.map((label) => ({ label, apply: `${label}\``, type: "function" })) };
}

/** Whether a line is between the two rules at the top. */
function inFrontmatter({ state: { doc } }: CompletionContext, number: number): boolean {
  if (number < 2 || doc.line(1).text.trimEnd() !== "---") return false;
  for (let above = 2; above < number; above++) if (doc.line(above).text.trimEnd() === "---") return false;
  return doc.line(number).text.trimEnd() !== "---";
}

function isChinese(text: string): boolean {
  return /^#+\s.*\p{Script=Han}/mu.test(text);
}

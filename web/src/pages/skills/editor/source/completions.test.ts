import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import { skillCompletions } from "./completions";

const source = skillCompletions(() => ({ tools: ["search_knowledge_base", "current_time"], params: ["topic"] }));

/** What is offered at the end of a text, or at the mark `|` in it. */
function offered(text: string): string[] {
  const at = text.indexOf("|");
  const state = EditorState.create({ doc: text.replace("|", "") });
  const result = source(new CompletionContext(state, at < 0 ? text.length : at, false));
  return result?.options.map(({ label }) => label) ?? [];
}

test("sections are offered in the language of the text", () => {
  expect(offered("# SKILL: A\n\n## ")).toContain("When to use");
  expect(offered("# SKILL: 日报\n\n## 触")).toContain("触发条件");
});

test("fields of the frontmatter are offered there alone", () => {
  expect(offered("---\nna|\n---\n")).toContain("allowed-tools");
  expect(offered("---\nmetadata:\n  c|\n---\n")).toContain("category");
  expect(offered("---\nname: a\n---\nna")).toEqual([]);
});

test("tools are offered in code and where they are allowed", () => {
  expect(offered("1. Use `sea")).toContain("search_knowledge_base");
  expect(offered("---\nallowed-tools: sea|\n---\n")).toContain("search_knowledge_base");
  expect(offered("1. Use `search` ")).toEqual([]);
});

test("declared inputs are offered between braces", () => {
  expect(offered("1. Write about {{to")).toEqual(["topic"]);
});

test("types come first, then what else is said of an input", () => {
  expect(offered("- `count` (int")).toContain("integer");
  expect(offered("- `count` (integer, r")).toContain("required");
  expect(offered("## 输入参数\n\n- `count` (integer，")).toContain("必填");
});

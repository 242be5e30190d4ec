import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const SOURCES = new URL("..", import.meta.url).pathname;
/** Attributes whose text a person reads or hears. */
const SPOKEN = new Set([
  "aria-label",
  "aria-description",
  "alt",
  "description",
  "hint",
  "label",
  "placeholder",
  "title",
]);
/** What is the same in every language: our name, and examples of JSON. */
const SAME = /^(Agentex$|\{)/;

function literals(path: string, text: string): string[] {
  const found: string[] = [];
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const note = (node: ts.Node, words: string) => {
    if (/\p{L}{2}/u.test(words) && !SAME.test(words.trim())) {
      found.push(`${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${words.trim()}`);
    }
  };
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node)) note(node, node.text);
    if (ts.isJsxAttribute(node) && SPOKEN.has(node.name.getText())) {
      const value = node.initializer;
      if (value && ts.isStringLiteral(value)) note(value, value.text);
      const inner = value && ts.isJsxExpression(value) ? value.expression : undefined;
      if (inner && ts.isStringLiteralLike(inner)) note(inner, inner.text);
    }
    const parent = node.parent;
    if (parent && ts.isJsxExpression(parent) && !ts.isJsxAttribute(parent.parent) && ts.isStringLiteralLike(node)) {
      note(node, node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

describe("texts outside the catalogues", () => {
  it("are found where a person would read them", () => {
    const text = `const x = <p title="A title" className="some">Some words {"more words"} {t("key")}<b>Agentex</b></p>;`;
    expect(literals("x.tsx", text)).toEqual(["x.tsx:1: A title", "x.tsx:1: Some words", "x.tsx:1: more words"]);
  });

  it("are on no page", () => {
    const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".tsx"));
    expect(files.length).toBeGreaterThan(20);
    expect(files.flatMap((name) => literals(name, readFileSync(join(SOURCES, name), "utf8")))).toEqual([]);
  });
});

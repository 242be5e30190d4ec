import { describe, expect, it } from "vitest";
import { blocksOf, type DocumentChunk, quoteOf, withoutOverlap } from "./passages";

const chunk = (content: string, start: number, more: Partial<DocumentChunk> = {}): DocumentChunk => ({
  id: "c",
  document_id: "d",
  knowledge_base_id: "k",
  revision: 1,
  position: 0,
  content,
  heading_path: [],
  page: null,
  char_start: start,
  char_end: start + [...content].length,
  token_count: 3,
  enabled: true,
  version: 1,
  edited: false,
  boxes: [],
  ...more,
});

describe("quoteOf", () => {
  it("counts characters as the server does", () => {
    expect(quoteOf(chunk("😀 one two", 10), { start: 12, end: 15 })).toBe("one");
  });

  it("tells nothing for the whole passage, after an edit and where text was repeated", () => {
    expect(quoteOf(chunk("one", 10), { start: 10, end: 13 })).toBeNull();
    expect(quoteOf(chunk("one two", 10, { edited: true }), { start: 10, end: 13 })).toBeNull();
    expect(quoteOf(chunk("one two", 10, { char_end: 99 }), { start: 10, end: 13 })).toBeNull();
  });
});

describe("withoutOverlap", () => {
  it("leaves out what the passage before has shown", () => {
    expect(withoutOverlap(chunk("two three", 4), chunk("one two", 0))).toBe("three");
    expect(withoutOverlap(chunk("three", 9), chunk("one two", 0))).toBe("three");
    expect(withoutOverlap(chunk("two three", 4), chunk("one two", 0, { enabled: false }))).toBe("two three");
  });
});

describe("blocksOf", () => {
  it("tells tables and paragraphs apart", () => {
    expect(blocksOf("Intro\nmore\n\na | b\n1 | 2\n\nEnd")).toEqual([
      { kind: "text", text: "Intro\nmore" },
      {
        kind: "table",
        rows: [
          ["a", "b"],
          ["1", "2"],
        ],
      },
      { kind: "text", text: "End" },
    ]);
  });
});

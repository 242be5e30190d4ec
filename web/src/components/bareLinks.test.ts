import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { describe, expect, it } from "vitest";
import { bareLinks } from "./bareLinks";

function html(text: string): string {
  return renderToStaticMarkup(createElement(ReactMarkdown, { remarkPlugins: [remarkGfm, bareLinks] }, text));
}

describe("bareLinks", () => {
  it.each([
    ["见 https://example.com/a。然后继续", '<a href="https://example.com/a">https://example.com/a</a>。然后继续'],
    ["（https://example.com/a?b=1）", '<a href="https://example.com/a?b=1">https://example.com/a?b=1</a>）'],
    ["www.example.com/a，再看", '<a href="http://www.example.com/a">www.example.com/a</a>，再看'],
  ])("ends %s before the punctuation", (text, expected) => {
    expect(html(text)).toContain(expected);
  });

  it("keeps what has no such punctuation, and what is written as a link", () => {
    expect(html("https://example.com/a. Then")).toContain('<a href="https://example.com/a">https://example.com/a</a>.');
    expect(html("https://zh.example.org/wiki/知识")).toContain(">https://zh.example.org/wiki/知识</a>");
    expect(html("[https://example.com/。](https://example.com/。)")).toContain(">https://example.com/。</a>");
    expect(html("<https://example.com/。>")).toContain(">https://example.com/。</a>");
  });
});

import { describe, expect, it } from "vitest";
import { markdownParts } from "./markdownParts";

const section = (number: number) => `## Part ${number}\n\n${"word ".repeat(200)}\n`;
const long = Array.from({ length: 40 }, (_, number) => section(number)).join("\n");

describe("markdownParts", () => {
  it("leaves a short text whole", () => expect(markdownParts("# A\n\nb")).toEqual(["# A\n\nb"]));
  it("cuts before headings and loses nothing", () => {
    const parts = markdownParts(long);
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.join("\n")).toBe(long);
    expect(parts.every((part) => part.startsWith("## Part"))).toBe(true);
  });
  it("does not cut in code", () => {
    const code = `# A\n\n\`\`\`\`sh\n${"# not a heading\n```\n".repeat(1000)}\`\`\`\`\n`;
    expect(markdownParts(code)).toEqual([code]);
  });
  it("tells each part the addresses of links", () => {
    const parts = markdownParts(`${long}\n[home]: https://example.org`);
    expect(parts.every((part) => part.endsWith("\n[home]: https://example.org"))).toBe(true);
  });
  it("leaves footnotes and comments whole", () => {
    expect(markdownParts(`${long}\n[^1]: A note.`)).toHaveLength(1);
    expect(markdownParts(`<!--\n${long}\n-->`)).toHaveLength(1);
  });
});

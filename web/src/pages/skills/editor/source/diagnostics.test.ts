import { expect, test, vi } from "vitest";

vi.mock("@/i18n", () => ({ currentLanguage: () => "en" }));

const { withFixes } = await import("./diagnostics");

const fix = (start: number, end: number, replacement: string) => ({
  title: "",
  title_zh: "",
  edits: [{ start, end, replacement }],
});

test("fixes are applied at their bytes", () => {
  expect(withFixes("描述 strng", [fix(7, 12, "string")])).toBe("描述 string");
});

test("several are applied at once, overlapping ones once", () => {
  expect(withFixes("abcd", [fix(0, 1, "X"), fix(3, 4, "Y"), fix(3, 4, "Z")])).toBe("XbcY");
});

test("line breaks of two signs are counted as bytes", () => {
  expect(withFixes("a\r\nb\r\n", [fix(3, 4, "B")])).toBe("a\r\nB\r\n");
});

import { expect, test } from "vitest";
import { bytePositions, lineBreakOf } from "./bytePositions";

test("offsets of ASCII are places", () => {
  const at = bytePositions("a\nbc", "\n");
  expect([0, 1, 2, 4, 9].map(at)).toEqual([0, 1, 2, 4, 4]);
});

test("Chinese signs take three bytes and one place, emoji four and two", () => {
  const at = bytePositions("描述🎯x", "\n");
  expect([0, 3, 6, 10, 11].map(at)).toEqual([0, 1, 2, 4, 5]);
});

test("a line break of two signs is one place", () => {
  const at = bytePositions("a\r\n描\r\nb", "\r\n");
  expect([0, 1, 3, 6, 8, 9].map(at)).toEqual([0, 1, 2, 3, 4, 5]);
});

test("a byte order mark counts three bytes", () => {
  expect(bytePositions("\ufeffab", "\n")(3)).toBe(1);
});

test("mixed line breaks are kept as signs", () => {
  expect(lineBreakOf("a\r\nb\r\n")).toBe("\r\n");
  expect(lineBreakOf("a\r\nb\n")).toBe("\n");
  expect(lineBreakOf("a")).toBe("\n");
});

import { expect, test } from "vitest";
import { minimalChange } from "./minimalChange";

test("only the middle is replaced", () => {
  expect(minimalChange("abcdef", "abXYef")).toEqual({ from: 2, to: 4, insert: "XY" });
});

test("repeated signs at both ends are not counted twice", () => {
  expect(minimalChange("aa", "aaa")).toEqual({ from: 2, to: 2, insert: "a" });
  expect(minimalChange("aaa", "aa")).toEqual({ from: 2, to: 3, insert: "" });
});

test("equal texts have no change", () => {
  expect(minimalChange("a", "a")).toBeNull();
});

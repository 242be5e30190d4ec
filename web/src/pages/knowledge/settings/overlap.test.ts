import { expect, it } from "vitest";
import { overlapLength } from "./overlap";

it("finds the longest end that the next begins with", () => {
  expect(overlapLength("one two three", "two three four")).toBe(9);
  expect(overlapLength("aabaa", "aabaab")).toBe(5);
  expect(overlapLength("abcab", "abd")).toBe(2);
});

it("finds none where there is none", () => {
  expect(overlapLength("one", "two")).toBe(0);
  expect(overlapLength("", "two")).toBe(0);
  expect(overlapLength("two", "")).toBe(0);
});

import { expect, test } from "vitest";
import { readNames, readValue, showValue } from "./values";

test("values are read as their type", () => {
  expect(readValue("3", "integer")).toBe(3);
  expect(readValue("3", "string")).toBe("3");
  expect(readValue("false", "boolean")).toBe(false);
  expect(readValue('["a"]', "array")).toEqual(["a"]);
  expect(readValue("  ", "number")).toBeNull();
});

test("what is not of the type stays as it was typed", () => {
  expect(readValue("three", "integer")).toBe("three");
  expect(readValue("[a", "array")).toBe("[a");
});

test("values are shown as they are read", () => {
  expect(showValue(null)).toBe("");
  expect(showValue("a")).toBe("a");
  expect(showValue([1])).toBe("[1]");
});

test("names stand between commas of either script", () => {
  expect(readNames("a, b，c、d,, ")).toEqual(["a", "b", "c", "d"]);
});

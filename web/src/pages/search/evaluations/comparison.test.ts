import { expect, test } from "vitest";
import { compareAnswers } from "./comparison";

const found = (...ids: string[]) => ids.map((chunk_id) => ({ chunk_id }));

test("passages of both answers share a number and know each other's place", () => {
  const { first, second, ...counts } = compareAnswers(found("a", "b", "c"), found("c", "x", "a"));
  expect(Object.fromEntries(first)).toEqual({ a: { number: 1, place: 3 }, c: { number: 2, place: 1 } });
  expect(Object.fromEntries(second)).toEqual({ a: { number: 1, place: 1 }, c: { number: 2, place: 3 } });
  expect(counts).toEqual({ shared: 2, onlyFirst: 1, onlySecond: 1 });
});

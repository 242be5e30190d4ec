import { expect, test } from "vitest";
import { countFilters, readSearchParams, readWideSearchParams, withOption } from "./searchParams";

test("an address with nothing is a search without a query", () => {
  expect(readSearchParams({})).toEqual({});
});

test("a query of digits stays a text", () => {
  expect(readSearchParams({ q: 2024 })).toEqual({ q: "2024" });
});

test("settings that the server would refuse are left out", () => {
  const options = { top_k: 500, dense_weight: 1.2, rerank: "yes", reranker: "other", expand: "section" };
  expect(readSearchParams({ options })).toEqual({ options: { dense_weight: 1.2, expand: "section" } });
});

test("empty second settings are kept: they say that two are side by side", () => {
  expect(readSearchParams({ compared: {} })).toEqual({ compared: {} });
});

test("a passage needs its id, or a document and words", () => {
  expect(readSearchParams({ why: { document_id: "d" } })).toEqual({});
  expect(readSearchParams({ why: { document_id: "d", text: "words" } })).toEqual({
    why: { document_id: "d", text: "words" },
  });
});

test("one knowledge base may stand without a list", () => {
  expect(readWideSearchParams({ kb: "a" })).toEqual({ kb: ["a"] });
});

test("an option that is taken back is the knowledge base's again", () => {
  expect(withOption({ top_k: 3, rerank: false }, "top_k", undefined)).toEqual({ rerank: false });
});

test("filters are counted by condition", () => {
  expect(countFilters({ name: "*.md", metadata: { team: "ops", year: { gte: 2020 } } })).toBe(3);
});

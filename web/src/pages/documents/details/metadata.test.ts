import { expect, it } from "vitest";
import { metadataOf, rowsOf } from "./metadata";

it("keeps kinds of values through the form", () => {
  const metadata = { team: "crew", year: 2026, final: true, tags: ["a", "b"] };
  expect(metadataOf(rowsOf(metadata))).toEqual({ metadata });
});

it("says which row is wrong", () => {
  const row = { id: 1, key: "a", kind: "text", value: "x" } as const;
  expect(metadataOf([row, { ...row, id: 2 }])).toEqual({ row: 2, error: "twice" });
  expect(metadataOf([{ ...row, key: " " }])).toEqual({ row: 1, error: "no_key" });
  expect(metadataOf([{ ...row, kind: "number" }])).toEqual({ row: 1, error: "no_number" });
  expect(metadataOf([{ ...row, key: "", value: "" }])).toEqual({ metadata: {} });
});

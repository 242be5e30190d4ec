import { expect, test } from "vitest";
import { differences, flatSettings } from "./settingsDifference";

const before = { chunk_size: 500, questions_digest: "a", retrieval: { top_k: 5, rerank: null } };

test("options of the retrieval stand beside the other settings", () => {
  expect([...flatSettings(before)]).toEqual([
    ["chunk_size", 500],
    ["top_k", 5],
  ]);
});

test("what changed, appeared or went is told", () => {
  const after = { chunk_size: 300, questions_digest: "b", retrieval: { dense_weight: 1 } };
  expect(differences(before, after)).toEqual([
    { name: "chunk_size", before: 500, after: 300 },
    { name: "top_k", before: 5, after: undefined },
    { name: "dense_weight", before: undefined, after: 1 },
  ]);
});

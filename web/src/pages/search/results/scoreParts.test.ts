import { expect, test } from "vitest";
import { type Legs, rankPlaces, scoreParts } from "./scoreParts";

const place = (normalised: number) => ({ rank: 1, score: 1, normalised });
const legs = (changes: Partial<Legs> = {}): Legs => ({
  dense: place(0.5),
  sparse: place(1),
  fused: 1.5,
  window: 1,
  phrase: 0.5,
  final: 2.125,
  relevance: null,
  ...changes,
});
const weights = { sparse: 1, dense: 1, window: 0.5, phrase: 0.25, highest: 2.75 };

test("the parts add up to the score", () => {
  const sum = scoreParts(legs(), weights).reduce((total, { share }) => total + share, 0);
  expect(sum).toBeCloseTo(2.125 / 2.75);
});

test("a leg that has not found it gives nothing", () => {
  expect(scoreParts(legs({ dense: null }), weights)[0]).toMatchObject({ name: "dense", value: 0, share: 0 });
});

test("parts without a weight are left out", () => {
  const names = scoreParts(legs(), { ...weights, window: 0, phrase: 0 }).map(({ name }) => name);
  expect(names).toEqual(["dense", "sparse"]);
});

test("a reranker's judgement is the score", () => {
  expect(scoreParts(legs({ relevance: 0.9 }), weights)).toMatchObject([{ name: "relevance", share: 0.9 }]);
});

test("places before and after the rerank", () => {
  const shown = [{ chunk_id: "a", score: 0.9, legs: legs({ fused: 1 }) }];
  const dropped = [
    { chunk_id: "b", score: 0.8, legs: legs({ fused: 2 }) },
    { chunk_id: "c", score: null, legs: null },
  ];
  const places = rankPlaces(shown, dropped);
  expect([places.get("a"), places.get("b"), places.get("c")]).toEqual([
    { fused: 2, final: 1 },
    { fused: 1, final: 2 },
    undefined,
  ]);
});

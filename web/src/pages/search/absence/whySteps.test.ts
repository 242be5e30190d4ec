import { expect, test } from "vitest";
import { whySteps } from "./whySteps";

test("a passage that is shown passed every step", () => {
  expect(new Set(whySteps("shown").map(({ state }) => state))).toEqual(new Set(["passed"]));
});

test("what came after the step that removed it is not reached", () => {
  const states = Object.fromEntries(whySteps("threshold").map(({ name, state }) => [name, state]));
  expect(states).toMatchObject({ legs: "passed", threshold: "failed", top_k: "not_reached" });
});

test("of a reason of a newer server no step is claimed", () => {
  expect(whySteps("something_new")).toEqual([]);
});

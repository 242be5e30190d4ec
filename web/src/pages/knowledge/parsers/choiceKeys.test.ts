import { expect, test } from "vitest";
import { choiceOf, keyOf } from "./choiceKeys";

test.each([
  { parser: "built_in", strategy: "auto" },
  { parser: "unstructured", strategy: "hi_res" },
])("a choice survives its field: $parser $strategy", (choice) => {
  expect(choiceOf(keyOf(choice))).toEqual(choice);
});

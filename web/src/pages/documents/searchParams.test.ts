import { expect, it } from "vitest";
import { passageSearch } from "./searchParams";

it("takes what makes sense and leaves out the rest", () => {
  expect(passageSearch({ chunk: "c", start: 3, end: "9", page: 2, view: "passages", changed: true, other: 1 })).toEqual(
    {
      chunk: "c",
      start: 3,
      end: 9,
      page: 2,
      view: "passages",
      changed: true,
    },
  );
  expect(passageSearch({ chunk: 5, start: 9, end: 3, page: -1, view: "x", changed: "yes" })).toEqual({});
});

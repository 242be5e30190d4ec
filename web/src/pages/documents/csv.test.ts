import { expect, it } from "vitest";
import { parseRows } from "./csv";

it("reads quoted cells, line ends of both kinds and other separators", () => {
  expect(parseRows('a,b\r\n"x, ""y""",2\n\n')).toEqual([
    ["a", "b"],
    ['x, "y"', "2"],
  ]);
  expect(parseRows("a;b\n1;2")).toEqual([
    ["a", "b"],
    ["1", "2"],
  ]);
  expect(parseRows('"two\nlines"\tb', "\t")).toEqual([["two\nlines", "b"]]);
});

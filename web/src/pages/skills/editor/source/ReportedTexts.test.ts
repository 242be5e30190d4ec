import { expect, test } from "vitest";
import { ReportedTexts } from "./ReportedTexts";

test("a text that comes back late is the editor's own", () => {
  const reported = new ReportedTexts();
  for (const text of ["a", "ab", "abc"]) reported.add(text);
  expect(["a", "abc"].map((text) => reported.takeBack(text))).toEqual([true, true]);
});

test("a text that others set is not, and ends the wait for earlier ones", () => {
  const reported = new ReportedTexts();
  for (const text of ["a", "ab"]) reported.add(text);
  expect(["mended", "a", "ab"].map((text) => reported.takeBack(text))).toEqual([false, false, false]);
});

test("a text that came back before is another's when it is set again", () => {
  const reported = new ReportedTexts();
  for (const text of ["a", "ab"]) reported.add(text);
  expect(["ab", "a"].map((text) => reported.takeBack(text))).toEqual([true, false]);
});

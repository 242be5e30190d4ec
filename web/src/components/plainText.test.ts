import { expect, test } from "vitest";
import { plainText } from "./plainText";

test("marks that turn or hide text are shown as their numbers", () => {
  expect(plainText("a\u202egpj.exe\u001b[31m\u200b")).toBe("a\\u202egpj.exe\\u001b[31m\\u200b");
});

test("text, line ends and joined emoji stay as they are", () => {
  const text = "在指定\n\tمرحبا 👩\u200d👧";
  expect(plainText(text)).toBe(text);
});

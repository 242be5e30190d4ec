import { expect, test } from "vitest";
import { markWords } from "./markWords";

const marked = (text: string, query: string) =>
  markWords(text, query)
    .filter((part) => part.marked)
    .map((part) => part.text);

test("words are marked whatever their ending and case", () => {
  expect(marked("Backups are made daily; a backup takes long.", "how is a backup made?")).toEqual([
    "Backups",
    "made",
    "backup",
  ]);
});

test("common words alone mark nothing", () => {
  expect(marked("What it is", "what is it")).toEqual([]);
});

test("Chinese words are found inside a sentence", () => {
  expect(marked("服务器配置要求如下", "服务器的要求")).toEqual(["服务器", "要求"]);
});

test("the parts are the text again", () => {
  const text = "Restore: see `agentex restore`.";
  const whole = markWords(text, "restore")
    .map((part) => part.text)
    .join("");
  expect(whole).toBe(text);
});

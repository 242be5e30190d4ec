import type { Message } from "@ag-ui/core";
import { expect, it } from "vitest";
import { MessageCopies } from "./messageCopies";

it("changes identity with what a message says, and only then", () => {
  const copies = new MessageCopies();
  const old: Message = { id: "1", role: "user", content: "q" };
  const growing: Message = { id: "2", role: "assistant", content: "a" };
  const before = copies.of([old, growing]);
  expect(copies.of([old, growing])).toBe(before);
  growing.content = "ab";
  const after = copies.of([old, growing]);
  expect(after[0]).toBe(before[0]);
  expect(after[1]).not.toBe(before[1]);
  expect(before[1]).toMatchObject({ content: "a" });
});

it("notices arguments that grow", () => {
  const copies = new MessageCopies();
  const call = { id: "c", type: "function" as const, function: { name: "f", arguments: "{" } };
  const message: Message = { id: "1", role: "assistant", toolCalls: [call] };
  const before = copies.of([message]);
  call.function.arguments = "{}";
  expect(copies.of([message])).not.toBe(before);
});

import type { Message } from "@ag-ui/core";
import { expect, it } from "vitest";
import { MessageList } from "./messageList";

const question = (id: string): Message => ({ id, role: "user", content: `What is ${id}?` });
const answer = (id: string, content: string): Message => ({
  id,
  role: "assistant",
  content,
  metadata: { ended: false },
});
const calling = (id: string, json: string): Message => ({
  id,
  role: "assistant",
  toolCalls: [{ id: `${id}-call`, type: "function", function: { name: "search", arguments: json } }],
});

it("keeps every message that says the same, though the agent copied it", () => {
  const messages = new MessageList();
  const past = [question("q1"), answer("a1", "One.")];
  const before = messages.of(past, [question("q2"), answer("a2", "T")]);
  const after = messages.of(past, [question("q2"), answer("a2", "Two")]);
  expect(after.slice(0, 3).every((message, index) => message === before[index])).toBe(true);
  expect(after[3]).not.toBe(before[3]);
  expect(before[3]).toMatchObject({ content: "T" });
  expect(messages.of(past, [question("q2"), answer("a2", "Two")])).toBe(after);
});

it("keeps them when the thread is read again, and when the newest turn becomes a past one", () => {
  const messages = new MessageList();
  const before = messages.of([question("q1")], [question("q2"), answer("a2", "Two.")]);
  expect(messages.of([question("q1")], [question("q2"), answer("a2", "Two.")])).toBe(before);
  const after = messages.of([question("q1"), question("q2"), answer("a2", "Two.")], [question("q3")]);
  expect(after.slice(0, 3).every((message, index) => message === before[index])).toBe(true);
  expect(after).toHaveLength(4);
});

it("notices arguments that grow, facts at the end, and what is gone", () => {
  const messages = new MessageList();
  const before = messages.of([], [question("q1"), calling("c1", "{"), answer("a1", "One.")]);
  const grown = messages.of([], [question("q1"), calling("c1", "{}"), answer("a1", "One.")]);
  expect(grown[1]).not.toBe(before[1]);
  expect(grown[2]).toBe(before[2]);
  const ended = messages.of(
    [],
    [question("q1"), calling("c1", "{}"), { ...answer("a1", "One."), metadata: { ended: true } }],
  );
  expect(ended[2]).not.toBe(grown[2]);
  expect(messages.of([], [question("q1")])).toEqual([question("q1")]);
});

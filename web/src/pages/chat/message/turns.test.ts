import type { Message } from "@ag-ui/core";
import { describe, expect, it } from "vitest";
import { turnsOf } from "./turns";

const question = (id: string): Message => ({ id, role: "user", content: id });
const calling: Message = {
  id: "a1",
  role: "assistant",
  content: "I will look.",
  toolCalls: [{ id: "c1", type: "function", function: { name: "search_knowledge_base", arguments: "{}" } }],
};
const result: Message = { id: "r1", role: "tool", toolCallId: "c1", content: "{}" };
const answer: Message = { id: "a2", role: "assistant", content: "8000 [1]" };

describe("turnsOf", () => {
  it("puts work and answers to their question", () => {
    const [first, second] = turnsOf([question("q1"), calling, result, answer, question("q2")]);
    expect(first?.work.map(({ kind }) => kind)).toEqual(["remark", "call"]);
    expect(first?.work[1]).toMatchObject({ result });
    expect(first?.answers).toEqual([answer]);
    expect(second).toMatchObject({ id: "q2", work: [], answers: [] });
  });

  it("keeps turns in which nothing changed", () => {
    const messages = [question("q1"), answer, question("q2")];
    const before = turnsOf(messages);
    const after = turnsOf([...messages, calling], before);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
  });

  it("shows a call without its question", () => {
    expect(turnsOf([calling])[0]).toMatchObject({ question: null });
  });
});

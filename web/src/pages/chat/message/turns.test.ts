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

  it("puts the progress of a call beside it", () => {
    const report = (content: Record<string, unknown>): Message => ({
      id: "p1",
      role: "activity",
      activityType: "agentex:call-progress",
      content: { tool_call_id: "c1", tool: "count", ...content },
    });
    const [known] = turnsOf([question("q1"), calling, report({ progress: 3, total: 20, message: "page 3" })]);
    expect(known?.work[1]).toMatchObject({ progress: { value: 3, total: 20, message: "page 3" } });
    const [unknown] = turnsOf([question("q1"), calling, report({ progress: 3, total: null, message: "" })]);
    expect(unknown?.work[1]).toMatchObject({ progress: { value: 3, total: null, message: "" } });
    const [none] = turnsOf([question("q1"), calling, report({ progress: "3" })]);
    expect(none?.work[1]).toMatchObject({ progress: null });
  });

  it("shows a call without its question", () => {
    expect(turnsOf([calling])[0]).toMatchObject({ question: null });
  });
});

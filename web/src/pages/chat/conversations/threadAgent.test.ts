import type { Message } from "@ag-ui/core";
import { expect, it, vi } from "vitest";
import { ThreadAgent } from "./threadAgent";

const question = (id: string): Message => ({ id, role: "user", content: id });
const answer = (id: string): Message => ({ id, role: "assistant", content: id });

const EVENTS = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "MESSAGES_SNAPSHOT", messages: [question("q1"), answer("a1"), question("q2")] },
  { type: "TEXT_MESSAGE_START", messageId: "a2", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "a2", delta: "Port" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "a2", delta: " 7070" },
  { type: "TEXT_MESSAGE_END", messageId: "a2" },
  { type: "RUN_FINISHED", threadId: "t", runId: "r" },
];

vi.mock("@/api/session", () => ({
  authorizedFetch: async () =>
    new Response(EVENTS.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
      headers: { "Content-Type": "text/event-stream" },
    }),
}));

it("hands no past turn to the stock agent, which copies its messages with every event", async () => {
  const agent = new ThreadAgent("http://agentex.example/run", "t");
  const lengths: number[] = [];
  await agent.runAgent(
    {},
    {
      onMessagesSnapshotEvent: ({ event }) => agent.adopt(event.messages),
      onMessagesChanged: ({ messages }) => void lengths.push(messages.length),
    },
  );
  expect(Math.max(...lengths)).toBe(2);
  expect(agent.past.map(({ id }) => id)).toEqual(["q1", "a1"]);
  expect(agent.messages).toMatchObject([{ id: "q2" }, { id: "a2", content: "Port 7070" }]);
});

it("makes the newest turn a past one when the next begins", () => {
  const agent = new ThreadAgent("http://agentex.example/run", "t");
  agent.adopt([]);
  agent.addQuestion(question("q1"));
  agent.messages.push(answer("a1"));
  agent.addQuestion(question("q2"));
  expect(agent.past.map(({ id }) => id)).toEqual(["q1", "a1"]);
  expect(agent.messages.map(({ id }) => id)).toEqual(["q2"]);
  expect(["q1", "q2", "q3"].map((id) => agent.has(id))).toEqual([true, true, false]);
});

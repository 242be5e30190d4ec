/** The messages of a thread as turns: a question, the work on it, the answer. */
import type { ActivityMessage, AssistantMessage, Message, ReasoningMessage, ToolCall, ToolMessage } from "@ag-ui/core";

export type UserMessage = Extract<Message, { role: "user" }>;

export type Work =
  | { kind: "thought"; message: ReasoningMessage }
  | { kind: "remark"; message: AssistantMessage }
  | { kind: "call"; call: ToolCall; result: ToolMessage | null };

export interface Turn {
  id: string;
  question: UserMessage | null;
  work: readonly Work[];
  answers: readonly AssistantMessage[];
  progress: ActivityMessage | null;
  source: readonly Message[];
}

const PROGRESS = "agentex:progress";

/** Group messages into turns; a turn whose messages are those of `before` is the same object. */
export function turnsOf(messages: readonly Message[], before: readonly Turn[] = []): readonly Turn[] {
  const groups: Message[][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (message.role === "user" || !last) groups.push([message]);
    else last.push(message);
  }
  return groups.map((source, index) => {
    const known = before[index];
    return known && isSame(known.source, source) ? known : turnOf(source);
  });
}

function isSame(one: readonly Message[], other: readonly Message[]): boolean {
  return one.length === other.length && one.every((message, index) => message === other[index]);
}

function turnOf(source: readonly Message[]): Turn {
  const results = new Map<string, ToolMessage>();
  for (const message of source) if (message.role === "tool") results.set(message.toolCallId, message);
  const work: Work[] = [];
  const answers: AssistantMessage[] = [];
  let progress: ActivityMessage | null = null;
  for (const message of source) {
    if (message.role === "reasoning" && message.content) work.push({ kind: "thought", message });
    if (message.role === "activity" && message.activityType === PROGRESS) progress = message;
    if (message.role !== "assistant") continue;
    const calls = message.toolCalls ?? [];
    if (message.content) {
      if (calls.length > 0) work.push({ kind: "remark", message });
      else answers.push(message);
    }
    for (const call of calls) work.push({ kind: "call", call, result: results.get(call.id) ?? null });
  }
  const [first] = source;
  const question = first?.role === "user" ? first : null;
  return { id: first?.id ?? "", question, work, answers, progress, source };
}

/** The messages of a thread as turns: a question, the work on it, the answer. */
import type { ActivityMessage, AssistantMessage, Message, ReasoningMessage, ToolCall, ToolMessage } from "@ag-ui/core";

export type UserMessage = Extract<Message, { role: "user" }>;

export type Work =
  | { kind: "thought"; message: ReasoningMessage }
  | { kind: "remark"; message: AssistantMessage }
  | { kind: "call"; call: ToolCall; result: ToolMessage | null; progress: CallProgress | null };

/** How far a call is; without a total nobody knows how far it goes. */
export interface CallProgress {
  value: number;
  total: number | null;
  message: string;
}

export interface Turn {
  id: string;
  question: UserMessage | null;
  work: readonly Work[];
  answers: readonly AssistantMessage[];
  progress: ActivityMessage | null;
  source: readonly Message[];
}

const PROGRESS = "agentex:progress";
const CALL_PROGRESS = "agentex:call-progress";

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

export interface TurnFailure {
  /** In words for the person; empty if that is not known. */
  message: string;
  /** Such as `LLM_ERROR`; empty if that is not known. */
  code: string;
  /** Of the request that began the run, for reports. */
  requestId: string | null;
}

/** Why a turn's run failed, as the server keeps it; null if it did not fail. */
export function failureOf(turn: Turn | undefined): TurnFailure | null {
  const content = turn?.progress?.content;
  if (content?.status !== "failed") return null;
  const { failure, failure_code: code, request_id: requestId } = content;
  return {
    message: typeof failure === "string" ? failure : "",
    code: typeof code === "string" ? code : "",
    requestId: typeof requestId === "string" ? requestId : null,
  };
}

function isSame(one: readonly Message[], other: readonly Message[]): boolean {
  return one.length === other.length && one.every((message, index) => message === other[index]);
}

function turnOf(source: readonly Message[]): Turn {
  const results = new Map<string, ToolMessage>();
  for (const message of source) if (message.role === "tool") results.set(message.toolCallId, message);
  const reports = callReports(source);
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
    for (const call of calls) {
      const { id } = call;
      work.push({ kind: "call", call, result: results.get(id) ?? null, progress: reports.get(id) ?? null });
    }
  }
  const [first] = source;
  const question = first?.role === "user" ? first : null;
  return { id: first?.id ?? "", question, work, answers, progress, source };
}

/** The newest report of each call that told its progress. */
function callReports(source: readonly Message[]): ReadonlyMap<string, CallProgress> {
  const reports = new Map<string, CallProgress>();
  for (const message of source) {
    if (message.role !== "activity" || message.activityType !== CALL_PROGRESS) continue;
    const { tool_call_id: id, progress, total, message: text } = message.content;
    if (typeof id !== "string" || typeof progress !== "number") continue;
    reports.set(id, {
      value: progress,
      total: typeof total === "number" && total > 0 ? total : null,
      message: typeof text === "string" ? text : "",
    });
  }
  return reports;
}

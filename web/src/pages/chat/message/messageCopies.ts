/** Copies of the agent's messages that change their identity when, and only when, a message changes. */
import type { Message } from "@ag-ui/core";

interface Kept {
  source: Message;
  content: unknown;
  metadata: unknown;
  calls: string;
  copy: Message;
}

/** The stock agent writes into its messages in place; React tells by identity what to draw again. */
export class MessageCopies {
  private kept = new Map<string, Kept>();
  private latest: readonly Message[] = [];

  of(messages: readonly Message[]): readonly Message[] {
    const next = new Map<string, Kept>();
    const copies = messages.map((message) => {
      const kept = this.keep(message);
      next.set(message.id, kept);
      return kept.copy;
    });
    this.kept = next;
    const isSame =
      copies.length === this.latest.length && copies.every((message, index) => message === this.latest[index]);
    if (!isSame) this.latest = copies;
    return this.latest;
  }

  private keep(message: Message): Kept {
    const before = this.kept.get(message.id);
    const calls = callsOf(message);
    const isSame =
      before?.source === message &&
      before.content === message.content &&
      before.metadata === message.metadata &&
      before.calls === calls;
    if (isSame) return before;
    return { source: message, content: message.content, metadata: message.metadata, calls, copy: copyOf(message) };
  }
}

function callsOf(message: Message): string {
  if (message.role !== "assistant" || !message.toolCalls) return "";
  return message.toolCalls.map((call) => `${call.id}:${call.function.arguments.length}`).join();
}

function copyOf(message: Message): Message {
  if (message.role !== "assistant" || !message.toolCalls) return { ...message };
  return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, function: { ...call.function } })) };
}

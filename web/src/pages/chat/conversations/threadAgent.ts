/** The stock AG-UI agent for threads that the server keeps, over a stream that ends where the connection is lost or silent. */
import { type AgentStateMutation, HttpAgent } from "@ag-ui/client";
import type { Message, RunAgentInput } from "@ag-ui/core";
import { authorizedFetch } from "@/api/session";

/** The server sends a comment every 15 seconds: who hears nothing for longer has lost the connection. */
const SILENCE_MS = 45_000;
/** Read at a stretch: thousands of events that came at once must not hold up the page. */
const MOST_BYTES = 8192;

export class ThreadAgent extends HttpAgent {
  /**
   * The turns before the newest: no event changes them. The stock agent copies its messages with every event, which
   * takes too long for a whole conversation, so that `messages` holds the newest turn only.
   */
  past: readonly Message[] = [];
  /** The messages of the next input; what the server has of a conversation is not sent again. */
  readonly unsent = new Set<string>();
  /** Of the request whose stream was read last. */
  requestId: string | null = null;
  private cut: (() => void) | null = null;

  constructor(url: string, threadId: string) {
    super({ url, threadId });
    this.fetch = (to, init) => this.openStream(to, init);
  }

  /** Begin a turn. */
  addQuestion(question: Message): void {
    this.past = [...this.past, ...this.messages];
    this.setMessages([question]);
  }

  /** Take over all messages of the thread. */
  adopt(messages: readonly Message[]): AgentStateMutation {
    const lastQuestion = messages.findLastIndex(({ role }) => role === "user");
    const start = Math.max(0, lastQuestion);
    this.past = messages.slice(0, start);
    return { messages: messages.slice(start), stopPropagation: true };
  }

  /** Whether the thread has the message, in any turn. */
  has(messageId: string): boolean {
    return [...this.past, ...this.messages].some(({ id }) => id === messageId);
  }

  /** Take the stream as lost: it ends at once. */
  loseConnection(): void {
    this.cut?.();
  }

  protected override requestInit(input: RunAgentInput): RequestInit {
    const messages = input.messages.filter(({ id }) => this.unsent.has(id));
    return super.requestInit({ ...input, messages, state: {} });
  }

  private async openStream(to: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const answer = await authorizedFetch(to, init);
    this.requestId = answer.headers.get("X-Request-ID");
    if (!answer.ok || !answer.body) return answer;
    const { status, headers } = answer;
    return new Response(this.guarded(answer.body), { status, headers });
  }

  /** The same bytes; the stream ends early instead of failing, for which the stock agent has no handler everywhere. */
  private guarded(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    const cut = () => void reader.cancel().catch(() => undefined);
    this.cut = cut;
    let rest = new Uint8Array();
    return new ReadableStream({
      async pull(controller) {
        if (rest.length > 0) await nextTask();
        else {
          const timer = setTimeout(cut, SILENCE_MS);
          const { value } = await reader.read().catch(() => ({ value: undefined }));
          clearTimeout(timer);
          if (!value) return controller.close();
          rest = new Uint8Array(value);
        }
        controller.enqueue(rest.subarray(0, MOST_BYTES));
        rest = rest.subarray(MOST_BYTES);
      },
      cancel: (reason) => reader.cancel(reason),
    });
  }
}

/** A timer would be slowed down in a hidden tab. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

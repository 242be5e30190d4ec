/** One conversation with the agent: its messages, its run, and what it waits for. */
import { type AgentStateMutation, type AgentSubscriber, randomUUID } from "@ag-ui/client";
import {
  AGUIError,
  type BaseEvent,
  type ContentPart,
  type Interrupt,
  type Message,
  type ResumeEntry,
} from "@ag-ui/core";
import { api, call } from "@/api/client";
import { ApiError, RunFailure } from "@/api/errors";
import { type Attachment, contentOf, type ShownAttachment } from "../composer/attachments";
import { MessageList } from "./messageList";
import { ThreadAgent } from "./threadAgent";

const RUN_URL = "/api/v1/agent/run";
const CONNECT_URL = "/api/v1/agent/connect";
const PAUSES_MS = [500, 1000, 2000, 4000, 8000, 15_000, 30_000];
/** A finished run comes whole at once; what is still coming after this is live. */
const LIVE_AFTER_MS = 250;
const MOST_WAIT_MS = 5000;

export type Phase = "new" | "loading" | "idle" | "running" | "reconnecting";

export interface Step {
  name: string;
  startedAt: number;
  endedAt: number | null;
}

export interface CallTime {
  startedAt: number;
  endedAt: number | null;
}

export interface Question {
  text: string;
  attachments: readonly Attachment[];
  /** The id of its message, where that has to be known before. */
  id?: string;
  /** Parts of an earlier question that go with it. */
  parts?: readonly ContentPart[];
}

export interface ConversationView {
  phase: Phase;
  messages: readonly Message[];
  state: Readonly<Record<string, unknown>>;
  interrupts: readonly Interrupt[];
  /** Of the run that was seen last. */
  steps: readonly Step[];
  attachments: Readonly<Record<string, readonly ShownAttachment[]>>;
  stopping: boolean;
  stopped: boolean;
  /** Why the run that was seen last failed. */
  failure: ApiError | null;
  /** Why the server refused a request for this conversation. */
  refusal: ApiError | null;
  /** A question that the server refused: it goes back to the composer. */
  refused: Question | null;
}

const EMPTY: ConversationView = {
  phase: "new",
  messages: [],
  state: {},
  interrupts: [],
  steps: [],
  attachments: {},
  stopping: false,
  stopped: false,
  failure: null,
  refusal: null,
  refused: null,
};

const HANDLED: AgentStateMutation = { stopPropagation: true };

/** What a run begins with; kept until the server is known to have it. */
interface Start {
  runId: string;
  question?: { message: Message; asked: Question };
  resume?: ResumeEntry[];
}

export class Conversation {
  private agent: ThreadAgent;
  /** The agent whose stream is read. */
  private reader: ThreadAgent | null = null;
  private opening: Promise<void> | null = null;
  private current: ConversationView = EMPTY;
  private readonly messages = new MessageList();
  private readonly times = new Map<string, CallTime>();
  private readonly listeners = new Set<() => void>();
  private frame: number | null = null;
  private runId: string | null = null;
  private hasBegun = false;
  private ended = true;
  private wake: (() => void) | null = null;
  private disposed = false;
  private loadedAt = 0;
  readonly threadId: string;

  constructor(threadId: string) {
    this.threadId = threadId;
    this.agent = this.makeAgent(RUN_URL);
    window.addEventListener("online", this.onOnline);
    window.addEventListener("offline", this.onOffline);
  }

  readonly view = (): ConversationView => this.current;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** When each call began and ended; a call's messages change at the same moments. */
  get callTimes(): ReadonlyMap<string, CallTime> {
    return this.times;
  }

  get isBusy(): boolean {
    return this.current.phase === "running" || this.current.phase === "reconnecting";
  }

  /** Read the conversation from the server, and follow a run that is under way. */
  async open(): Promise<void> {
    if (this.isBusy || this.current.phase === "loading") return;
    // What was read a moment ago, or is known to be new, needs no second look.
    if (Date.now() - this.loadedAt < 5000) return;
    if (this.current.messages.length === 0) this.publish({ phase: "loading" });
    this.opening = this.follow(null);
    await this.opening;
  }

  /** Take over the beginning of another conversation, of which this one is a new branch. */
  begin({ messages, attachments }: Pick<ConversationView, "messages" | "attachments">): void {
    this.agent.setMessages(structuredClone([...messages]));
    this.loadedAt = Date.now();
    this.publish({ attachments });
  }

  /** Until a message is shown, or it is known that it will not be. */
  shows(messageId: string): Promise<void> {
    const isShown = () => this.current.phase === "idle" || this.current.messages.some(({ id }) => id === messageId);
    return this.until(isShown, MOST_WAIT_MS);
  }

  /** Until the server has begun the run that was asked for, or can't be reached; gives the reason if it refused. */
  async begun(): Promise<ApiError | null> {
    await this.until(() => this.hasBegun || this.current.phase !== "running");
    return this.current.refusal;
  }

  /** Ask; what is asked before the conversation is read waits for that. */
  async ask(asked: Question): Promise<void> {
    if (this.current.phase === "loading") await this.opening;
    if (this.disposed) return;
    if (this.isBusy || this.current.interrupts.length > 0) {
      this.publish({ refused: asked });
      return;
    }
    const content = contentOf(asked.text, asked.attachments, asked.parts);
    const message: Message = { id: asked.id ?? randomUUID(), role: "user", content };
    const shown = asked.attachments.map(({ name, kind, preview }) => ({ name, kind, url: preview }));
    if (shown.length > 0) {
      this.publish({ attachments: { ...this.current.attachments, [message.id]: shown } });
    }
    this.agent.addQuestion(message);
    await this.run({ runId: randomUUID(), question: { message, asked } });
  }

  /** Answer everything that the conversation waits for. */
  async answer(resume: ResumeEntry[]): Promise<void> {
    await this.run({ runId: randomUUID(), resume });
  }

  /** End the run on the server; its stream then ends by itself. */
  async stop(): Promise<void> {
    if (!this.runId || this.current.stopping) return;
    this.publish({ stopping: true });
    try {
      await call(api.POST("/api/v1/agent/run/{run_id}/stop", { params: { path: { run_id: this.runId } } }));
    } catch (error) {
      this.publish({ stopping: false });
      throw error;
    }
  }

  clearRefused(): void {
    this.publish({ refused: null });
  }

  showAttachments(attachments: Record<string, readonly ShownAttachment[]>): void {
    this.publish({ attachments: { ...attachments, ...this.current.attachments } });
  }

  /** Reconnect now instead of after the pause. */
  readonly retryNow = (): void => this.wake?.();

  dispose(): void {
    this.disposed = true;
    window.removeEventListener("online", this.onOnline);
    window.removeEventListener("offline", this.onOffline);
    this.agent.abortRun();
    this.wake?.();
    this.listeners.clear();
  }

  private readonly onOnline = (): void => this.wake?.();

  /** The stream would hang instead of failing; whether the server can still be reached is seen by connecting. */
  private readonly onOffline = (): void => this.reader?.loseConnection();

  private makeAgent(url: string): ThreadAgent {
    return new ThreadAgent(url, this.threadId);
  }

  private async run(start: Start): Promise<void> {
    const agent = this.agent;
    agent.unsent.clear();
    if (start.question) agent.unsent.add(start.question.message.id);
    this.runId = start.runId;
    this.hasBegun = false;
    const cleared = { failure: null, refusal: null, refused: null, stopping: false, stopped: false, steps: [] };
    this.publish({ phase: "running", ...cleared });
    try {
      await this.drive(agent, start);
    } catch (error) {
      if (this.disposed) return;
      const refusal = refusalOf(error);
      if (refusal) this.refuse(start, refusal);
      // The server may have the run all the same: only it can tell.
      else await this.follow(start);
      return;
    }
    this.settle();
  }

  private async drive(agent: ThreadAgent, start: Pick<Start, "runId" | "resume">): Promise<void> {
    this.ended = false;
    const { runId, resume } = start;
    let fault: Error | null = null;
    const subscriber: AgentSubscriber = {
      ...this.subscriber(agent),
      // The caller tells the person; the stock agent would write into the browser's console as well.
      onRunFailed: ({ error }) => {
        fault = error;
        return HANDLED;
      },
    };
    this.reader = agent;
    await agent.runAgent({ runId, ...(resume ? { resume } : {}) }, subscriber).finally(() => {
      this.reader = null;
    });
    if (fault) throw fault;
    if (!this.ended) throw new Error("The stream ended before its run.");
  }

  private settle(): void {
    this.loadedAt = Date.now();
    this.runId = null;
    this.publish({ phase: "idle", stopping: false, interrupts: this.agent.pendingInterrupts });
  }

  private refuse({ question }: Start, refusal: ApiError): void {
    if (question) this.agent.setMessages(this.agent.messages.filter(({ id }) => id !== question.message.id));
    this.publish({ refusal, refused: question?.asked ?? null });
    this.settle();
  }

  /** Come to the thread as it is, until its run is over; ask again what the server never got. */
  private async follow(start: Start | null): Promise<void> {
    const found = await this.reach();
    if (this.disposed || found === null) return;
    if (start && this.isMissing(start, found)) await this.run(start);
    else this.settle();
  }

  /** Whether the server has the thread; tried until it answers, null if it refuses. */
  private async reach(): Promise<boolean | null> {
    for (let attempt = 0; !this.disposed; attempt++) {
      try {
        await this.connect();
        return true;
      } catch (error) {
        if (this.disposed) return null;
        const refusal = refusalOf(error);
        if (refusal?.status === 404) return false;
        if (refusal) {
          this.publish({ refusal });
          this.settle();
          return null;
        }
        this.publish({ phase: "reconnecting" });
        await this.pause(PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)] ?? 0);
      }
    }
    return null;
  }

  private isMissing({ question, resume }: Start, found: boolean): boolean {
    if (question) {
      if (found && this.agent.has(question.message.id)) return false;
      if (found) this.agent.addQuestion(question.message);
      return true;
    }
    const open = new Set(this.agent.pendingInterrupts.map(({ id }) => id));
    return resume?.some(({ interruptId }) => open.has(interruptId)) ?? false;
  }

  private async connect(): Promise<void> {
    const agent = this.makeAgent(CONNECT_URL);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const { unsubscribe } = agent.subscribe({
      onMessagesSnapshotEvent: () => {
        // Until here the messages of before are shown.
        this.agent = agent;
        timer = setTimeout(() => this.ended || this.publish({ phase: "running" }), LIVE_AFTER_MS);
      },
    });
    try {
      await this.drive(agent, { runId: randomUUID() });
      agent.url = RUN_URL;
    } finally {
      clearTimeout(timer);
      unsubscribe();
    }
  }

  private until(isMet: () => boolean, mostMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = mostMs === undefined ? undefined : setTimeout(end, mostMs);
      const unsubscribe = this.subscribe(() => isMet() && end());
      function end() {
        clearTimeout(timer);
        unsubscribe();
        resolve();
      }
      if (isMet()) end();
    });
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private subscriber(agent: ThreadAgent): AgentSubscriber {
    return {
      onEvent: ({ event }) => {
        this.note(event);
        if (agent === this.agent) this.publishSoon();
      },
      onMessagesSnapshotEvent: ({ event }) => agent.adopt(event.messages),
    };
  }

  /** What the agent's messages and state don't keep: steps, times, the end. */
  private note(event: BaseEvent): void {
    const at = event.timestamp ?? Date.now();
    switch (event.type) {
      case "RUN_STARTED":
        this.runId = textOf(event, "runId");
        this.hasBegun = true;
        this.current = { ...this.current, steps: [], failure: null, refusal: null };
        break;
      case "STEP_STARTED":
        this.current = {
          ...this.current,
          steps: [...this.current.steps, { name: textOf(event, "stepName"), startedAt: at, endedAt: null }],
        };
        break;
      case "STEP_FINISHED":
        this.finishStep(textOf(event, "stepName"), at);
        break;
      case "TOOL_CALL_START":
        this.timeCall(textOf(event, "toolCallId"), { startedAt: at, endedAt: null });
        break;
      case "TOOL_CALL_RESULT": {
        const id = textOf(event, "toolCallId");
        const begun = this.times.get(id);
        if (begun) this.timeCall(id, { ...begun, endedAt: at });
        break;
      }
      case "RUN_FINISHED":
        this.ended = true;
        this.current = { ...this.current, stopped: outcomeOf(event) === "cancelled" };
        break;
      case "RUN_ERROR":
        this.ended = true;
        this.current = { ...this.current, failure: this.failureOf(event) };
        break;
    }
  }

  private failureOf(event: BaseEvent): ApiError {
    return new RunFailure(textOf(event, "message"), textOf(event, "code"), this.reader?.requestId ?? null);
  }

  private finishStep(name: string, at: number): void {
    const place = this.current.steps.findLastIndex((step) => step.name === name && step.endedAt === null);
    const steps = this.current.steps.map((step, index) => (index === place ? { ...step, endedAt: at } : step));
    this.current = { ...this.current, steps };
  }

  private timeCall(id: string, time: CallTime): void {
    this.times.set(id, time);
  }

  /** Once a frame: a stream of ten thousand tokens must not draw the page ten thousand times. */
  private publishSoon(): void {
    if (this.frame !== null) return;
    const draw = () => this.publish({});
    // A hidden tab has no frames.
    this.frame = document.hidden ? window.setTimeout(draw, 300) : requestAnimationFrame(draw);
  }

  private publish(change: Partial<ConversationView>): void {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    const state = (this.agent.state ?? {}) as Record<string, unknown>;
    const messages = this.messages.of(this.agent.past, this.agent.messages);
    this.current = { ...this.current, ...change, messages, state };
    for (const listener of this.listeners) listener();
  }
}

/** What the server said to a request that it refused; null when it could not be reached. */
function refusalOf(error: unknown): ApiError | null {
  // What no stream may contain will not be better the next time.
  if (error instanceof AGUIError) return new ApiError(error.message, 50_000);
  const { status, payload } = (error ?? {}) as { status?: unknown; payload?: unknown };
  if (typeof status !== "number" || status >= 502) return null;
  const { message, code, details } = (payload ?? {}) as { message?: string; code?: number; details?: object };
  return new ApiError(message ?? String(status), typeof code === "number" ? code : status * 100, { ...details });
}

function textOf(event: BaseEvent, field: string): string {
  const value = (event as unknown as Record<string, unknown>)[field];
  return typeof value === "string" ? value : "";
}

function outcomeOf(event: BaseEvent): string | null {
  const outcome = (event as unknown as { outcome?: { type?: string } }).outcome;
  return outcome?.type ?? null;
}

/** The uploads to one knowledge base: they go on while the person looks at other pages. */
import { ApiError } from "@/api/errors";
import { sendBatch, type UploadChoices, type UploadOutcome } from "./sendBatch";
import { type PickedFile, planBatches, type UploadBatch } from "./uploadPlan";

export interface Refusal {
  name: string;
  error: UploadOutcome["error"];
  /** Why it did not even reach the server. */
  cause?: "unreachable" | "hidden" | "unreadable";
  /** What can be sent once more. */
  again?: readonly PickedFile[];
}

export interface UploadState {
  files: number;
  bytes: number;
  sentBytes: number;
  finished: number;
  created: number;
  replaced: number;
  unchanged: number;
  refusals: readonly Refusal[];
  /** Names of what is on its way. */
  sending: readonly string[];
  isRunning: boolean;
  isPaused: boolean;
  isCancelled: boolean;
  startedAt: number;
}

const SENDERS = 4;
const TRIES = 4;
const TELL_MS = 200;
/** Answers after which the same request may well succeed. */
const PASSING = new Set([429, 502, 503, 504]);
const EMPTY: UploadState = {
  files: 0,
  bytes: 0,
  sentBytes: 0,
  finished: 0,
  created: 0,
  replaced: 0,
  unchanged: 0,
  refusals: [],
  sending: [],
  isRunning: false,
  isPaused: false,
  isCancelled: false,
  startedAt: 0,
};

export class UploadQueue {
  private state = EMPTY;
  private readonly waiting: UploadBatch[] = [];
  private readonly underWay = new Map<UploadBatch, number>();
  private readonly listeners = new Set<() => void>();
  private settledBytes = 0;
  private aborter = new AbortController();
  private choices: UploadChoices = { onConflict: "replace", parser: null };
  private told: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly kbId: string) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): UploadState => this.state;

  add(picked: readonly PickedFile[], choices: UploadChoices, refusals: readonly Refusal[] = []): void {
    if (!this.state.isRunning) this.clear();
    this.choices = choices;
    this.waiting.push(...planBatches(picked, SENDERS));
    this.change({
      files: this.state.files + picked.length,
      bytes: this.state.bytes + picked.reduce((sum, { file }) => sum + file.size, 0),
      refusals: [...this.state.refusals, ...refusals],
      isRunning: this.state.isRunning || picked.length > 0,
      startedAt: this.state.startedAt || Date.now(),
    });
    this.go();
  }

  pause(): void {
    this.change({ isPaused: true });
  }

  resume(): void {
    this.change({ isPaused: false });
    this.go();
  }

  /** What is stored already stays; what waits or is on its way is dropped. */
  cancel(): void {
    this.waiting.length = 0;
    this.change({ isCancelled: true, isPaused: false });
    this.aborter.abort();
    this.settle();
  }

  retry(): void {
    const again = this.state.refusals.flatMap((refusal) => refusal.again ?? []);
    this.change({ refusals: this.state.refusals.filter((refusal) => !refusal.again) });
    this.add(again, this.choices, this.state.isRunning ? [] : this.state.refusals);
  }

  clear(): void {
    this.aborter = new AbortController();
    this.settledBytes = 0;
    this.state = EMPTY;
    this.tell();
  }

  private go(): void {
    while (this.underWay.size < SENDERS && !this.state.isPaused) {
      const batch = this.waiting.shift();
      if (!batch) break;
      void this.send(batch);
    }
  }

  private async send(batch: UploadBatch): Promise<void> {
    this.underWay.set(batch, 0);
    this.measure();
    const outcomes = await this.attempt(batch);
    this.underWay.delete(batch);
    this.settledBytes += batch.bytes;
    if (!this.aborter.signal.aborted) this.count(batch, outcomes);
    this.measure();
    this.go();
    this.settle();
  }

  private async attempt(batch: UploadBatch): Promise<UploadOutcome[] | Refusal> {
    const { signal } = this.aborter;
    for (let tried = 1; ; tried++) {
      try {
        const onSent = (bytes: number) => {
          this.underWay.set(batch, Math.min(bytes, batch.bytes));
          this.measure();
        };
        return await sendBatch(this.kbId, batch, this.choices, onSent, signal);
      } catch (cause) {
        const error = cause instanceof ApiError ? cause : null;
        const passes = error !== null && (error.code === 0 || PASSING.has(error.status));
        if (!passes || tried === TRIES || signal.aborted) return refusalOf(batch, error);
        await rest((error.retryAfterSeconds ?? 2 ** tried) * 1000, signal);
      }
    }
  }

  private count(batch: UploadBatch, outcomes: UploadOutcome[] | Refusal): void {
    const { state } = this;
    const finished = state.finished + batch.files.length;
    if (!Array.isArray(outcomes)) {
      this.change({ finished, refusals: [...state.refusals, outcomes] });
      return;
    }
    const of = (...names: string[]) => outcomes.filter(({ outcome }) => outcome && names.includes(outcome)).length;
    const refused = outcomes.flatMap(({ name, error }) => (error ? [{ name, error }] : []));
    this.change({
      finished,
      created: state.created + of("created"),
      replaced: state.replaced + of("replaced", "retried"),
      unchanged: state.unchanged + of("unchanged"),
      refusals: refused.length ? [...state.refusals, ...refused] : state.refusals,
    });
  }

  private measure(): void {
    const moving = [...this.underWay.values()].reduce((sum, bytes) => sum + bytes, 0);
    const sending = [...this.underWay.keys()].map(({ files }) => files[0]?.path ?? "");
    this.change({ sentBytes: Math.min(this.state.bytes, this.settledBytes + moving), sending });
  }

  private settle(): void {
    if (!this.underWay.size && !this.waiting.length) this.change({ isRunning: false, isPaused: false });
  }

  private change(part: Partial<UploadState>): void {
    this.state = { ...this.state, ...part };
    this.tell();
  }

  /** Thousands of files must not draw the page thousands of times. */
  private tell(): void {
    this.told ??= setTimeout(() => {
      this.told = undefined;
      for (const listener of this.listeners) listener();
    }, TELL_MS);
  }
}

function refusalOf(batch: UploadBatch, error: ApiError | null): Refusal {
  const name = batch.files[0]?.path ?? "";
  const more = batch.files.length - 1;
  return {
    name: more ? `${name} (+${more})` : name,
    error: error?.code ? { code: error.code, message: error.message } : undefined,
    cause: error?.code ? undefined : "unreachable",
    again: batch.files,
  };
}

function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

const queues = new Map<string, UploadQueue>();

export function uploadQueue(kbId: string): UploadQueue {
  let queue = queues.get(kbId);
  if (!queue) {
    queue = new UploadQueue(kbId);
    queues.set(kbId, queue);
  }
  return queue;
}

function isSomethingRunning(): boolean {
  return [...queues.values()].some((queue) => queue.snapshot().isRunning);
}

// Whoever closes the tab meanwhile loses what was not sent yet.
window.addEventListener("beforeunload", (event) => {
  if (isSomethingRunning()) event.preventDefault();
});

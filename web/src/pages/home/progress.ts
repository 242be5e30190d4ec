/** What the progress of a knowledge base says. */
import type { Schemas } from "@/api/client";

type BaseProgress = Pick<Schemas["ProgressAnswer"], "counts" | "percent" | "eta_seconds" | "paused">;

const OPEN = ["pending", "processing"];

/** How many documents wait or are in work. */
export function openCount({ counts }: BaseProgress): number {
  return OPEN.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
}

export type Documentation =
  | { state: "unknown" }
  /** It was deleted, is not this account's to see, or nothing of it is in work or could be read. */
  | { state: "absent" }
  | { state: "reading"; percent: number; secondsLeft: number | null }
  | { state: "ready" };

export function documentationOf(progress: BaseProgress): Documentation {
  const isReading = openCount(progress) > 0 && !progress.paused;
  if (isReading) return { state: "reading", percent: progress.percent, secondsLeft: progress.eta_seconds };
  return { state: progress.counts.completed ? "ready" : "absent" };
}

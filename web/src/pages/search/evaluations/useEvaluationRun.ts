/** A measurement under way: how far it is, how it ended; leaving the page cancels it. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { ApiError, unreachable } from "@/api/errors";
import { readEvents } from "@/api/eventStream";
import { authorizedFetch } from "@/api/session";
import type { RetrievalOptions } from "../searchParams";
import type { WholeEvaluation } from "./evaluationQueries";

export interface RunProgress {
  done: number;
  total: number;
}

export interface EvaluationRun {
  progress: RunProgress | null;
  running: boolean;
  error: unknown;
  start: (options: RetrievalOptions) => void;
  cancel: () => void;
}

export function useEvaluationRun(kbId: string, onDone: (result: WholeEvaluation) => void): EvaluationRun {
  const queries = useQueryClient();
  const [progress, setProgress] = useState<RunProgress | null>(null);
  const [running, setRunning] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);

  async function run(options: RetrievalOptions) {
    const controller = new AbortController();
    abort.current = controller;
    setRunning(true);
    setError(null);
    setProgress(null);
    try {
      const result = await evaluate(kbId, options, controller.signal, setProgress);
      await queries.invalidateQueries({ queryKey: ["evaluations", kbId] });
      onDone(result);
    } catch (cause) {
      if (!controller.signal.aborted) setError(cause);
    } finally {
      if (abort.current === controller) setRunning(false);
    }
  }
  return {
    progress,
    running,
    error,
    start: (options) => void run(options),
    cancel: () => abort.current?.abort(),
  };
}

async function evaluate(
  kbId: string,
  options: RetrievalOptions,
  signal: AbortSignal,
  onProgress: (progress: RunProgress) => void,
): Promise<WholeEvaluation> {
  const answer = await authorizedFetch(`/api/v1/knowledge-bases/${encodeURIComponent(kbId)}/evaluations`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ options }),
    signal,
  }).catch((cause: unknown) => {
    throw unreachable(cause);
  });
  if (!answer.ok || !answer.body) throw ApiError.of(answer, await answer.json().catch(() => undefined));
  for await (const { name, data } of readEvents(answer.body)) {
    const value: unknown = JSON.parse(data);
    if (name === "progress") onProgress(value as RunProgress);
    if (name === "error") throw ApiError.of(answer, value);
    if (name === "result") return value as WholeEvaluation;
  }
  throw unreachable(new Error("the stream ended without a result"));
}

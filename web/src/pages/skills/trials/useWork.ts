/** The state of long work that a page began. */
import { useEffect, useRef, useState } from "react";
import { type Progress, runWork } from "./workStream";

export interface TrialWork<T> {
  progress: Progress | null;
  result: T | null;
  error: unknown;
  isRunning: boolean;
  start: (address: string, body: object) => Promise<T | null>;
  stop: () => void;
}

export function useWork<T>(): TrialWork<T> {
  const [state, setState] = useState<Pick<TrialWork<T>, "progress" | "result" | "error" | "isRunning">>({
    progress: null,
    result: null,
    error: null,
    isRunning: false,
  });
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  async function start(address: string, body: object): Promise<T | null> {
    running.current?.abort();
    const control = new AbortController();
    running.current = control;
    setState({ progress: null, result: null, error: null, isRunning: true });
    try {
      const onProgress = (progress: Progress) => setState((now) => ({ ...now, progress }));
      const result = await runWork<T>(address, body, onProgress, control.signal);
      setState({ progress: null, result, error: null, isRunning: false });
      return result;
    } catch (error) {
      if (running.current === control)
        setState({ progress: null, result: null, error: control.signal.aborted ? null : error, isRunning: false });
      return null;
    }
  }
  return { ...state, start, stop: () => running.current?.abort() };
}

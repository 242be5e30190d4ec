/** Whether the server can be reached; while it can't, it is asked again until it answers. */
import { useSyncExternalStore } from "react";

/** `offline`: this device has no network. `unreachable`: it has, and the server does not answer. */
export type ConnectionState = "fine" | "offline" | "unreachable";

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 10_000;
const listeners = new Set<() => void>();

let current: ConnectionState = navigator.onLine ? "fine" : "offline";
let isAsking = false;

function change(next: ConnectionState): void {
  if (next === current) return;
  current = next;
  for (const listener of listeners) listener();
}

/** A request got no answer. */
export function reportUnreachable(): void {
  change(navigator.onLine ? "unreachable" : "offline");
  if (!isAsking) void askUntilAnswered();
}

async function askUntilAnswered(): Promise<void> {
  isAsking = true;
  for (let pause = FIRST_PAUSE_MS; current !== "fine"; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    if (await answers()) change("fine");
    else await pauseOrNetwork(pause);
  }
  isAsking = false;
}

/** Whether the server answers now. */
export async function answers(): Promise<boolean> {
  try {
    return (await fetch("/healthz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

/** Wait some time, or until the network is back. */
function pauseOrNetwork(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener("online", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    window.addEventListener("online", end);
  });
}

window.addEventListener("offline", reportUnreachable);

export function currentConnection(): ConnectionState {
  return current;
}

export function subscribeConnection(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useConnection(): ConnectionState {
  return useSyncExternalStore(subscribeConnection, currentConnection);
}

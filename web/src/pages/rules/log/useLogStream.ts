/** The log of a rule as it is written; the queries of the log follow it. */
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { readEvents } from "@/api/eventStream";
import { authorizedFetch } from "@/api/session";

const AGAIN_MS = 3000;
/** A flood of events is not a flood of requests. */
const REFRESH_MS = 700;

/** Whether new entries appear by themselves. */
export function useLogStream(ruleId: string): boolean {
  const queries = useQueryClient();
  const [isLive, setLive] = useState(true);
  useEffect(() => {
    let aborter: AbortController | null = null;
    // Each server takes six connections of a browser: one that nobody looks at holds none.
    const look = () => {
      aborter?.abort();
      aborter = document.hidden ? null : new AbortController();
      if (aborter) void follow(ruleId, queries, setLive, aborter.signal);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      aborter?.abort();
    };
  }, [ruleId, queries]);
  return isLive;
}

async function follow(
  ruleId: string,
  queries: QueryClient,
  onLive: (isLive: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  const refreshLog = atMostEvery(REFRESH_MS, () => {
    if (!signal.aborted) void queries.invalidateQueries({ queryKey: ["rules"] });
  });
  while (!signal.aborted) {
    let isOver = false;
    try {
      const place = `/api/v1/rules/${encodeURIComponent(ruleId)}/logs/stream`;
      const answer = await authorizedFetch(place, { headers: { Accept: "text/event-stream" }, signal });
      isOver = answer.status === 403 || answer.status === 404;
      if (answer.ok && answer.body) {
        onLive(true);
        // What came while nobody listened.
        refreshLog();
        for await (const { name, data } of readEvents(answer.body)) {
          if (name === "log") refreshLog();
          if (name === "end") isOver = ["deleted", "access"].includes((JSON.parse(data) as { reason: string }).reason);
        }
      }
    } catch {
      // The server is away or the page is left.
    }
    if (signal.aborted) return;
    onLive(false);
    if (isOver) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** A function that does something once after a pause, however often it is called meanwhile. */
function atMostEvery(pause: number, act: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      act();
    }, pause);
  };
}

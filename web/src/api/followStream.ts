/** A stream of server-sent events that is read for as long as somebody looks at the page. */
import { readEvents, type ServerEvent } from "./eventStream";
import { authorizedFetch } from "./session";

const AGAIN_MS = 3000;

export interface StreamReader {
  /** Whether the event says that nothing more will come. */
  onEvent: (event: ServerEvent) => boolean;
  /** What the server sends arrives, or does not: the connection was lost, and will be tried again. */
  onLive: (isLive: boolean) => void;
}

/** Follow a stream, again and again where it breaks off; the function that is given back ends that. */
export function followStream(path: string, reader: StreamReader): () => void {
  let aborter: AbortController | null = null;
  // Each server takes six connections of a browser: one that nobody looks at holds none.
  const look = () => {
    aborter?.abort();
    aborter = document.hidden ? null : new AbortController();
    if (aborter) void follow(path, reader, aborter.signal);
  };
  look();
  document.addEventListener("visibilitychange", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    aborter?.abort();
  };
}

async function follow(path: string, { onEvent, onLive }: StreamReader, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    let isOver = false;
    try {
      const answer = await authorizedFetch(path, { headers: { Accept: "text/event-stream" }, signal });
      isOver = answer.status === 403 || answer.status === 404;
      if (answer.ok && answer.body) {
        onLive(true);
        for await (const event of readEvents(answer.body)) isOver = onEvent(event) || isOver;
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
export function atMostEvery(pause: number, act: () => void): () => void {
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

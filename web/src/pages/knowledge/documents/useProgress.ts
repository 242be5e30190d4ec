/** The progress of a knowledge base as it happens; the lists of its documents follow it. */
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { readEvents, type ServerEvent } from "@/api/eventStream";
import { authorizedFetch } from "@/api/session";
import { type DocumentRow, documentListKey, type IngestionProgress, progressQuery } from "../queries";

const POLL_MS = 3000;
const AGAIN_MS = 5000;
const REFRESH_MS = 2500;

type DocumentPage = { items: DocumentRow[] };

export function useProgress(kbId: string): IngestionProgress | undefined {
  const queries = useQueryClient();
  const [isLive, setLive] = useState(false);
  const progress = useQuery({ ...progressQuery(kbId), refetchInterval: isLive ? false : POLL_MS });
  useEffect(() => {
    const follower = new ProgressFollower(kbId, queries, setLive);
    // Each server takes six connections of a browser: one that nobody looks at holds none.
    const look = () => (document.hidden ? follower.stop() : follower.start());
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      follower.stop();
    };
  }, [kbId, queries]);
  const changed = progress.data?.changed_at;
  // biome-ignore lint/correctness/useExhaustiveDependencies: where nothing is streamed, a change shows in this time
  useEffect(() => {
    if (!isLive) void queries.invalidateQueries({ queryKey: documentListKey(kbId) });
  }, [changed]);
  return progress.data;
}

class ProgressFollower {
  private aborter: AbortController | null = null;
  private refresh: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly kbId: string,
    private readonly queries: QueryClient,
    private readonly onLive: (isLive: boolean) => void,
  ) {}

  start(): void {
    if (this.aborter) return;
    this.aborter = new AbortController();
    void this.follow(this.aborter.signal);
  }

  stop(): void {
    this.aborter?.abort();
    this.aborter = null;
    clearTimeout(this.refresh);
    this.refresh = undefined;
  }

  private async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let isOver = false;
      try {
        const place = `/api/v1/knowledge-bases/${encodeURIComponent(this.kbId)}/progress/stream`;
        const answer = await authorizedFetch(place, { headers: { Accept: "text/event-stream" }, signal });
        isOver = answer.status === 403 || answer.status === 404;
        if (answer.ok && answer.body)
          for await (const event of readEvents(answer.body)) isOver = this.take(event) || isOver;
      } catch {
        // The server is away or the page is left.
      }
      if (signal.aborted) return;
      this.onLive(false);
      if (isOver) return;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  /** Whether the stream says that nothing more will come. */
  private take({ name, data }: ServerEvent): boolean {
    if (name === "snapshot") {
      const snapshot = JSON.parse(data) as { progress: IngestionProgress };
      this.onLive(true);
      this.setProgress(snapshot.progress);
      this.refreshLists();
    } else if (name === "progress") this.setProgress(JSON.parse(data) as IngestionProgress);
    else if (name === "document") this.setDocument(JSON.parse(data) as DocumentRow);
    else if (name === "removed") this.refreshLists();
    return name === "end" && (JSON.parse(data) as { reason?: string }).reason === "access";
  }

  private setProgress(progress: IngestionProgress): void {
    const { queryKey } = progressQuery(this.kbId);
    const before = this.queries.getQueryData(queryKey);
    this.queries.setQueryData(queryKey, progress);
    if (before && before.total !== progress.total) {
      this.refreshLists();
      void this.queries.invalidateQueries({ queryKey: ["knowledge-base", this.kbId], exact: true });
    }
  }

  private setDocument(document: DocumentRow): void {
    let isShown = false;
    this.queries.setQueriesData<DocumentPage>({ queryKey: documentListKey(this.kbId) }, (page) => {
      const place = page?.items.findIndex(({ id }) => id === document.id) ?? -1;
      if (!page || place < 0) return page;
      isShown ||= page.items[place]?.status === document.status;
      return { ...page, items: page.items.with(place, document) };
    });
    if (!isShown) this.refreshLists();
  }

  /** Lists whose members may have changed are read anew, but not with each of a thousand events. */
  private refreshLists(): void {
    this.refresh ??= setTimeout(() => {
      this.refresh = undefined;
      void this.queries.invalidateQueries({ queryKey: documentListKey(this.kbId) });
    }, REFRESH_MS);
  }
}

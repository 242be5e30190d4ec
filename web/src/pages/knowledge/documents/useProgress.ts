/** The progress of a knowledge base as it happens; the lists of its documents follow it. */
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { ServerEvent } from "@/api/eventStream";
import { atMostEvery, followStream } from "@/api/followStream";
import { type DocumentRow, documentListKey, type IngestionProgress, progressQuery } from "../queries";

const POLL_MS = 3000;
const REFRESH_MS = 2500;

type DocumentPage = { items: DocumentRow[] };

export function useProgress(kbId: string): IngestionProgress | undefined {
  const queries = useQueryClient();
  const [isLive, setLive] = useState(false);
  const progress = useQuery({ ...progressQuery(kbId), refetchInterval: isLive ? false : POLL_MS });
  useEffect(() => {
    const lists = new ProgressLists(kbId, queries);
    return followStream(`/api/v1/knowledge-bases/${encodeURIComponent(kbId)}/progress/stream`, {
      onEvent: (event) => lists.take(event),
      onLive: setLive,
    });
  }, [kbId, queries]);
  const changed = progress.data?.changed_at;
  // biome-ignore lint/correctness/useExhaustiveDependencies: where nothing is streamed, a change shows in this time
  useEffect(() => {
    if (!isLive) void queries.invalidateQueries({ queryKey: documentListKey(kbId) });
  }, [changed]);
  return progress.data;
}

/** The queries of a knowledge base's documents, which its stream keeps up to date. */
class ProgressLists {
  /** Lists whose members may have changed are read anew, but not with each of a thousand events. */
  private readonly refreshLists: () => void;

  constructor(
    private readonly kbId: string,
    private readonly queries: QueryClient,
  ) {
    this.refreshLists = atMostEvery(
      REFRESH_MS,
      () => void queries.invalidateQueries({ queryKey: documentListKey(kbId) }),
    );
  }

  /** Whether the stream says that nothing more will come. */
  take({ name, data }: ServerEvent): boolean {
    if (name === "snapshot") {
      const snapshot = JSON.parse(data) as { progress: IngestionProgress };
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
}

import type { Schemas } from "@/api/client";

export type EventSource = Schemas["EventSourceItem"];

/** Where a sender sends the events of a source to. */
export function addressOf({ url }: Pick<EventSource, "url">): string {
  return new URL(url, window.location.origin).href;
}

/** Where a question stood on the screen when another branch was gone to: the one in its place stands there, too. */
export type Direction = "previous" | "next";

interface Place {
  threadId: string;
  messageId: string;
  direction: Direction;
  /** Distance of the question from the top of the window, in pixels. */
  top: number;
}

let place: Place | null = null;

export function holdPlace(held: Omit<Place, "top"> & { from: Element }): void {
  const { from, ...rest } = held;
  place = { ...rest, top: from.getBoundingClientRect().top };
}

/** The place that a thread is shown with first, until it is taken. */
export function heldPlace(threadId: string): Place | null {
  return place?.threadId === threadId ? place : null;
}

export function releasePlace(): void {
  place = null;
}

/** What the address of a document says: the passage, the quoted part of it, the page and the tab. */

export interface PassageSearch {
  chunk?: string;
  /** Offsets of the quoted part in the document's extracted text. */
  start?: number;
  end?: number;
  /** Of a document with pages. */
  page?: number;
  /** The tab on a small screen. */
  view?: "passages" | "original";
  /** Whether only passages that were edited or switched off are listed. */
  changed?: boolean;
}

export function passageSearch(search: Record<string, unknown>): PassageSearch {
  const found: PassageSearch = {};
  if (typeof search.chunk === "string" && search.chunk) found.chunk = search.chunk;
  const [start, end, page] = [whole(search.start), whole(search.end), whole(search.page)];
  if (start !== undefined && end !== undefined && start < end) Object.assign(found, { start, end });
  if (page) found.page = page;
  if (search.view === "passages" || search.view === "original") found.view = search.view;
  if (search.changed === true) found.changed = true;
  return found;
}

function whole(value: unknown): number | undefined {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

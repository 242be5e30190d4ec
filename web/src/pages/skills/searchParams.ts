/** What the addresses of skills say: filters of the library, chosen versions, the open test. */

type Raw = Record<string, unknown>;

export interface LibrarySearch {
  q?: string;
  tag?: string;
  category?: string;
  /** Whose skills: one's own and shared ones alone where it is missing. */
  show?: "all" | "pending";
  page?: number;
}

export interface SideSearch {
  side?: "preview";
}

export interface ComparedVersions {
  from?: number;
  to?: number;
  page?: number;
}

export interface TestSearch {
  test?: string;
}

export function readLibrarySearch(raw: Raw): LibrarySearch {
  const page = positive(raw.page);
  return {
    ...text("q", raw.q),
    ...text("tag", raw.tag),
    ...text("category", raw.category),
    ...((raw.show === "all" || raw.show === "pending") && { show: raw.show }),
    ...(page && page > 1 && { page }),
  };
}

export function readSideSearch(raw: Raw): SideSearch {
  return raw.side === "preview" ? { side: "preview" } : {};
}

export function readComparedVersions(raw: Raw): ComparedVersions {
  const [from, to, page] = [positive(raw.from), positive(raw.to), positive(raw.page)];
  return { ...(from && { from }), ...(to && { to }), ...(page && page > 1 && { page }) };
}

export function readTestSearch(raw: Raw): TestSearch {
  return text("test", raw.test);
}

/** Numbers too: the address `?q=2024` reads as one. */
function text<K extends string>(key: K, value: unknown): { [P in K]?: string } {
  const read = typeof value === "number" ? String(value) : value;
  return (typeof read === "string" && read.trim() ? { [key]: read } : {}) as { [P in K]?: string };
}

function positive(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** What the addresses of these pages say: filters, sort and page. */

export const SCOPES = ["mine", "shared", "public"] as const;
export const STATUSES = ["pending", "processing", "paused", "completed", "cancelled", "failed"] as const;
export const SORTS = ["updated_at", "created_at", "name", "file_size", "status"] as const;

export type Scope = (typeof SCOPES)[number];
export type Status = (typeof STATUSES)[number];
export type Sort = (typeof SORTS)[number];

/** As many as the server takes in a name. */
export const MOST_LETTERS = 255;

export interface ListSearch {
  q?: string;
  scope?: Scope;
  /** Which dialog is open. */
  dialog?: "create" | "import";
}

export interface DocumentSearch {
  /** A part of the name. */
  q?: string;
  page?: number;
  status?: Status;
  sort?: Sort;
  order?: "asc" | "desc";
}

function oneOf<T extends string>(choices: readonly T[], value: unknown): T | undefined {
  return choices.find((choice) => choice === value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value ? value.slice(0, MOST_LETTERS) : undefined;
}

export function listSearch(raw: Record<string, unknown>): ListSearch {
  return {
    q: textOf(raw.q),
    scope: oneOf(SCOPES, raw.scope),
    dialog: oneOf(["create", "import"], raw.dialog),
  };
}

export function documentSearch(raw: Record<string, unknown>): DocumentSearch {
  const page = Math.floor(Number(raw.page));
  return {
    q: textOf(raw.q),
    page: page > 1 ? page : undefined,
    status: oneOf(STATUSES, raw.status),
    sort: oneOf(SORTS, raw.sort),
    order: oneOf(["asc", "desc"], raw.order),
  };
}

/** What the addresses of the pages of rules say. */

export interface PageSearch {
  page?: number | undefined;
}

export interface ListSearch extends PageSearch {
  q?: string | undefined;
  enabled?: boolean | undefined;
}

export interface EditorSearch {
  /** Whether the rule is shown as JSON. */
  view?: "json" | undefined;
  /** The example that a new rule begins with. */
  example?: string | undefined;
  /** The entry of the log whose event it is tried with. */
  log?: string | undefined;
}

export const LOG_STATUSES = [
  "success",
  "partial",
  "failed",
  "unknown",
  "not_met",
  "cooldown",
  "limit",
  "loop",
  "pending",
  "running",
] as const;
export type LogStatus = (typeof LOG_STATUSES)[number];

export interface LogSearch extends PageSearch {
  status?: LogStatus | undefined;
}

type Search = Record<string, unknown>;

const text = (value: unknown) => (typeof value === "string" && value ? value : undefined);

export function readPageSearch({ page }: Search): PageSearch {
  const number = Number(page);
  return { page: Number.isInteger(number) && number > 1 ? number : undefined };
}

export function readListSearch(search: Search): ListSearch {
  const { q, enabled } = search;
  return { ...readPageSearch(search), q: text(q), enabled: typeof enabled === "boolean" ? enabled : undefined };
}

export function readEditorSearch({ view, example, log }: Search): EditorSearch {
  return { view: view === "json" ? "json" : undefined, example: text(example), log: text(log) };
}

export function readLogSearch(search: Search): LogSearch {
  return { ...readPageSearch(search), status: LOG_STATUSES.find((status) => status === search.status) };
}

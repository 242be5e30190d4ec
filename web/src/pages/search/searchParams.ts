/** The state of a search in the address: query, filters, settings, the passage in question. */
import type { Schemas } from "@/api/client";

export type Filters = Schemas["Filters"];
export type RetrievalOptions = Schemas["RetrievalOptions"];

/** The passage that was expected: by its id, or by its document and words of it. */
export interface PassageReference {
  chunk_id?: string;
  document_id?: string;
  text?: string;
}

export interface SearchParams {
  q?: string;
  filters?: Filters;
  options?: RetrievalOptions;
  /** The second settings, where two are side by side; empty ones are the knowledge base's own. */
  compared?: RetrievalOptions;
  why?: PassageReference;
}

export interface WideSearchParams {
  q?: string;
  /** Knowledge bases; all of them where none is named. */
  kb?: string[];
  filters?: Filters;
  options?: RetrievalOptions;
}

type Raw = Record<string, unknown>;

const NUMBERS = {
  top_k: [1, 100],
  score_threshold: [0, 1],
  dense_weight: [0, 2],
  neighbours: [0, 5],
  expand_tokens: [50, 8000],
} as const;
export type NumberOption = keyof typeof NUMBERS;
export const NUMBER_LIMITS: Record<NumberOption, readonly [number, number]> = NUMBERS;

/** What somebody wrote into an address may be anything: only what the server takes is kept. */
export function readOptions(raw: unknown): RetrievalOptions | undefined {
  if (!isObject(raw)) return undefined;
  const options: RetrievalOptions = {};
  for (const [name, [least, most]] of Object.entries(NUMBERS) as [NumberOption, readonly [number, number]][]) {
    const value = raw[name];
    if (typeof value === "number" && value >= least && value <= most) options[name] = value;
  }
  if (typeof raw.rerank === "boolean") options.rerank = raw.rerank;
  if (typeof raw.deduplicate === "boolean") options.deduplicate = raw.deduplicate;
  if (raw.reranker === "lexical" || raw.reranker === "api") options.reranker = raw.reranker;
  if (raw.expand === "none" || raw.expand === "section") options.expand = raw.expand;
  return options;
}

export function readFilters(raw: unknown): Filters | undefined {
  if (!isObject(raw)) return undefined;
  const filters: Filters = {};
  if (typeof raw.name === "string" && raw.name) filters.name = raw.name;
  for (const name of ["file_types", "document_ids"] as const) {
    const words = strings(raw[name]);
    if (words?.length) filters[name] = words;
  }
  for (const name of ["created", "updated"] as const) {
    const period = raw[name];
    if (!isObject(period)) continue;
    const { since, before } = period;
    const kept = { ...(text(since) && { since: text(since) }), ...(text(before) && { before: text(before) }) };
    if (Object.keys(kept).length) filters[name] = kept;
  }
  if (isObject(raw.metadata) && Object.keys(raw.metadata).length)
    filters.metadata = raw.metadata as NonNullable<Filters["metadata"]>;
  return Object.keys(filters).length ? filters : undefined;
}

function readWanted(raw: unknown): PassageReference | undefined {
  if (!isObject(raw)) return undefined;
  const chunk = text(raw.chunk_id);
  if (chunk) return { chunk_id: chunk };
  const [document, words] = [text(raw.document_id), text(raw.text)];
  return document && words ? { document_id: document, text: words } : undefined;
}

export function readSearchParams(raw: Raw): SearchParams {
  return defined({
    q: text(raw.q),
    filters: readFilters(raw.filters),
    options: nonEmpty(readOptions(raw.options)),
    compared: readOptions(raw.compared),
    why: readWanted(raw.why),
  });
}

export function readWideSearchParams(raw: Raw): WideSearchParams {
  const kb = typeof raw.kb === "string" ? [raw.kb] : strings(raw.kb);
  return defined({
    q: text(raw.q),
    kb: kb?.length ? kb : undefined,
    filters: readFilters(raw.filters),
    options: nonEmpty(readOptions(raw.options)),
  });
}

/** The options with one of them changed; undefined takes it back. */
export function withOption<K extends keyof RetrievalOptions>(
  options: RetrievalOptions,
  name: K,
  value: RetrievalOptions[K] | undefined,
): RetrievalOptions {
  const { [name]: _, ...rest } = options;
  return value === undefined || value === null ? rest : { ...rest, [name]: value };
}

export function countFilters(filters: Filters | undefined): number {
  if (!filters) return 0;
  const { metadata, ...others } = filters;
  return Object.values(others).filter((value) => value != null).length + Object.keys(metadata ?? {}).length;
}

export function nonEmpty<T extends object>(value: T | undefined): T | undefined {
  return value && Object.keys(value).length ? value : undefined;
}

function isObject(value: unknown): value is Raw {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Numbers too: the address `?q=2024` reads as one. */
function text(value: unknown): string | undefined {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value.trim() ? value : undefined;
}

function strings(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Defined<T>;
}

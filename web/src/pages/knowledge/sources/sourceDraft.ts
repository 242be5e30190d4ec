/** What is typed of a source, and the request that it becomes. */
import type { KnowledgeSource, SourceBody } from "./sourceQueries";

export const MODES = ["site", "sitemap", "page"] as const;
const INTERVALS = [0, 5, 15, 60, 360, 1440, 10_080];
const DAILY = 1440;

export interface SourceDraft {
  name: string;
  connector: "web" | "folder";
  place: string;
  mode: (typeof MODES)[number];
  maxPages: string;
  maxDepth: string;
  wholeSite: boolean;
  include: string;
  exclude: string;
  every: string;
}

export function draftOf(source: KnowledgeSource | undefined): SourceDraft {
  const settings = source?.settings ?? {};
  const connector = source?.connector === "folder" ? "folder" : "web";
  return {
    name: source?.name ?? "",
    connector,
    place: String(settings.url ?? settings.path ?? ""),
    mode: MODES.find((mode) => mode === settings.mode) ?? "site",
    maxPages: String(settings.max_pages ?? 500),
    maxDepth: String(settings.max_depth ?? 5),
    wholeSite: settings.whole_site === true,
    include: linesOf(settings.include),
    exclude: linesOf(settings.exclude),
    every: String(source ? (source.sync_every_minutes ?? 0) : DAILY),
  };
}

export function bodyOf(draft: SourceDraft): SourceBody {
  const place = draft.place.trim();
  const patterns = { include: patternsOf(draft.include), exclude: patternsOf(draft.exclude) };
  const web = {
    url: place,
    mode: draft.mode,
    max_pages: Number(draft.maxPages),
    max_depth: Number(draft.maxDepth),
    whole_site: draft.wholeSite,
  };
  return {
    name: draft.name.trim() || nameOf(place),
    connector: draft.connector,
    settings: { ...(draft.connector === "web" ? web : { path: place }), ...patterns },
    sync_every_minutes: Number(draft.every) || null,
  };
}

/** The place without what all have: `example.org/docs`, or the folder's own name. */
function nameOf(place: string): string {
  const address = place.replace(/^https?:\/\//, "").replace(/\/+$/, "");
  return (place === address ? address.split("/").at(-1) : address)?.slice(0, 200) || place.slice(0, 200);
}

/** Minutes to choose from, that of the source among them; 0 stands for no schedule. */
export function intervals(source: KnowledgeSource | undefined): number[] {
  const choices = new Set([...INTERVALS, source?.sync_every_minutes ?? 0]);
  return [...choices].toSorted((first, second) => first - second);
}

function linesOf(patterns: unknown): string {
  return Array.isArray(patterns) ? patterns.join("\n") : "";
}

function patternsOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

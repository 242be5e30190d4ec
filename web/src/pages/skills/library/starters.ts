/** The skills that come with Agentex, as texts to begin one's own with. */
import type { Language } from "@/i18n";

export interface Starter {
  key: string;
  name: string;
  description: string;
  content: string;
  /** Requests to test it with. */
  requests: readonly { query: string; should_trigger: boolean }[];
}

const TEXTS = import.meta.glob<string>("../../../../../skills/starters/*/*.md", {
  eager: true,
  import: "default",
  query: "?raw",
});
const REQUESTS = import.meta.glob<Record<Language, Starter["requests"]>>(
  "../../../../../skills/starters/*/triggers.json",
  { eager: true, import: "default" },
);

/** The starters in a language, in the order of their folders. */
export function startersIn(language: Language): Starter[] {
  return Object.entries(TEXTS)
    .filter(([path]) => path.endsWith(`/${language}.md`))
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([path, text]) => {
      const folder = path.slice(0, path.lastIndexOf("/"));
      return {
        key: folder.slice(folder.lastIndexOf("/") + 1),
        ...headOf(text),
        content: withoutSlug(text),
        requests: REQUESTS[`${folder}/triggers.json`]?.[language] ?? [],
      };
    });
}

/** The name in the title, and the first paragraph. */
function headOf(text: string): Pick<Starter, "name" | "description"> {
  const [title = "", , description = ""] = text.split("\n\n");
  return { name: title.replace(/^# SKILL:\s*/, "").trim(), description: description.trim() };
}

/** The library has a skill of the starter's own key. */
function withoutSlug(text: string): string {
  return text.replace(/^- slug:.*\n/m, "");
}

/** Reads of skills, and what is kept of an answer that changed one. */
import { keepPreviousData, type QueryClient, queryOptions } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { api, call, type Schemas } from "@/api/client";
import type { LibrarySearch } from "./searchParams";

export type Skill = Schemas["SkillAnswer"];
export type SkillDetail = Schemas["SkillDetail"];

export const PAGE_SIZE = 24;

/** A skill with the ETag that a change of its settings names. */
export interface LoadedSkill {
  skill: SkillDetail;
  etag: string;
}

export function libraryQuery({ q, tag, category, show, page = 1 }: LibrarySearch) {
  const query = {
    page,
    page_size: PAGE_SIZE,
    include_public: show === "all",
    pending: show === "pending",
    ...(q && { q }),
    ...(tag && { tag }),
    ...(category && { category }),
  };
  return queryOptions({
    queryKey: ["skills", "list", query],
    queryFn: () => call(api.GET("/api/v1/skills", { params: { query } })),
    placeholderData: keepPreviousData,
  });
}

/** The categories and tags that are in use, as far as the newest hundred skills show. */
export const facetsQuery = queryOptions({
  queryKey: ["skills", "facets"],
  queryFn: () => call(api.GET("/api/v1/skills", { params: { query: { include_public: true, page_size: 100 } } })),
  select: ({ items }) => ({
    categories: sorted(items.map((skill) => skill.category).filter(Boolean)),
    tags: sorted(items.flatMap((skill) => skill.tags)),
  }),
  staleTime: 60_000,
});

/** How many skills wait for a decision of the person. */
export const pendingCountQuery = queryOptions({
  queryKey: ["skills", "pending-count"],
  queryFn: () => call(api.GET("/api/v1/skills", { params: { query: { pending: true, page_size: 1 } } })),
  select: ({ total }) => total,
});

export function skillQuery(skillId: string) {
  return queryOptions({
    queryKey: ["skill", skillId],
    queryFn: () => loaded(api.GET("/api/v1/skills/{skill_id}", { params: { path: { skill_id: skillId } } })),
  });
}

export function versionsQuery(skillId: string, page = 1) {
  return queryOptions({
    queryKey: ["skill", skillId, "versions", page],
    queryFn: () =>
      call(
        api.GET("/api/v1/skills/{skill_id}/versions", {
          params: { path: { skill_id: skillId }, query: { page, page_size: 20 } },
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export function versionQuery(skillId: string, version: number) {
  return queryOptions({
    queryKey: ["skill", skillId, "version", version],
    queryFn: () =>
      call(
        api.GET("/api/v1/skills/{skill_id}/versions/{version}", {
          params: { path: { skill_id: skillId, version: String(version) } },
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useSkillId(): string {
  return useParams({ strict: false }).skillId ?? "";
}

/** The scope of mutations in which changes of a skill wait for each other. */
export function changeOfSkill(skillId: string): { id: string } {
  return { id: `skill ${skillId}` };
}

interface TaggedAnswer<T> {
  data?: { data: T } | undefined;
  error?: unknown;
  response: Response;
}

/** A skill of an answer, with the ETag that came with it; throws ApiError. */
export async function loaded<T extends SkillDetail>(
  request: Promise<TaggedAnswer<T>>,
): Promise<{ skill: T; etag: string }> {
  const skill = await call(request);
  return { skill, etag: (await request).response.headers.get("ETag") ?? "" };
}

/** Show a skill as a change left it, and read anew what follows from it. */
export async function keepChanged(queries: QueryClient, changed: LoadedSkill): Promise<void> {
  const id = changed.skill.id;
  queries.setQueryData(skillQuery(id).queryKey, changed);
  await Promise.all([
    queries.invalidateQueries({ queryKey: ["skills"] }),
    queries.invalidateQueries({ queryKey: ["skill", id, "versions"] }),
    queries.invalidateQueries({ queryKey: ["skill", id, "diff"] }),
  ]);
}

/** Everything of a skill and the lists that it stands in. */
export async function forgetSkill(queries: QueryClient, id: string): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: ["skills"] }),
    queries.invalidateQueries({ queryKey: ["skill", id] }),
  ]);
}

function sorted(words: string[]): string[] {
  return [...new Set(words)].sort((left, right) => left.localeCompare(right));
}

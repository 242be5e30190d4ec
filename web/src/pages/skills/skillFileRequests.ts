/** Requests for files beside a skill; their paths have slashes, which stay slashes in the address. */
import { download } from "@/api/client";
import { ApiError, unreachable } from "@/api/errors";
import { authorizedFetch } from "@/api/session";
import type { LoadedSkill, SkillDetail } from "./skillQueries";

export function fileAddress(skillId: string, path: string): string {
  return `/api/v1/skills/${encodeURIComponent(skillId)}/files/${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** Save a file on the person's machine, under the name that its path has: the server gives none. */
export async function saveSkillFile(skillId: string, path: string): Promise<void> {
  const { blob } = await download(fileAddress(skillId, path));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = path.split("/").at(-1) ?? path;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Put a file beside the text, or take one away: as a new version. The answer's ETag is the file's. */
export async function changeFile(skill: SkillDetail, path: string, content: Blob | null): Promise<LoadedSkill> {
  let response: Response;
  try {
    response = await authorizedFetch(
      fileAddress(skill.id, path),
      content
        ? { method: "PUT", body: content, headers: { "Content-Type": "application/octet-stream" } }
        : { method: "DELETE" },
    );
  } catch (cause) {
    throw unreachable(cause);
  }
  const body = await response.json().catch(() => undefined);
  if (!response.ok) throw ApiError.of(response, body);
  return { skill: (body as { data: SkillDetail }).data, etag: "" };
}

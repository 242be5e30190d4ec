/** Requests for files beside a skill; their paths have slashes, which stay slashes in the address. */
import { save } from "@/api/client";
import { ApiError, unreachable } from "@/api/errors";
import { authorizedFetch } from "@/api/session";
import type { LoadedSkill, SkillDetail } from "./skillQueries";

/** What a text area still takes without a delay. */
const MOST_EDITED_BYTES = 512 * 1024;

export function fileAddress(skillId: string, path: string): string {
  return `/api/v1/skills/${encodeURIComponent(skillId)}/files/${path.split("/").map(encodeURIComponent).join("/")}`;
}

export function saveSkillFile(skillId: string, path: string): Promise<void> {
  return save(fileAddress(skillId, path));
}

/** A file as it was read; `text` is null where it is no text, or too much of it. */
export interface LoadedFile {
  text: string | null;
  etag: string;
  bytes: Blob | null;
}

/** Read a file. Throws ApiError. */
export async function loadFile(skillId: string, path: string): Promise<LoadedFile> {
  const answer = await request(fileAddress(skillId, path));
  const bytes = await answer.blob();
  return { text: await textOf(bytes), etag: answer.headers.get("ETag") ?? "", bytes };
}

async function textOf(bytes: Blob): Promise<string | null> {
  if (bytes.size > MOST_EDITED_BYTES) return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await bytes.arrayBuffer());
    // A text area would change other line breaks, and a NUL is no text's.
    return /\r|\0/.test(text) ? null : text;
  } catch {
    return null;
  }
}

interface FileChange {
  /** Where it was; null for a new file. */
  path: string | null;
  newPath: string;
  file: LoadedFile;
  text: string | null;
}

/** Write a file, and take away the old one where its path changed. Throws ApiError. */
export async function writeFile(skill: SkillDetail, { path, newPath, file, text }: FileChange): Promise<LoadedSkill> {
  const content = text === file.text && file.bytes ? file.bytes : new Blob([text ?? ""]);
  if (path === newPath) return changeFile(skill, path, content, file.etag);
  const written = await changeFile(skill, newPath, content);
  return path === null ? written : changeFile(skill, path, null, file.etag);
}

/** Put a file beside the text, or take one away: as a new version. With an ETag, if it is still as it was read. */
export async function changeFile(
  skill: SkillDetail,
  path: string,
  content: Blob | null,
  etag = "",
): Promise<LoadedSkill> {
  const answer = await request(fileAddress(skill.id, path), {
    method: content ? "PUT" : "DELETE",
    body: content,
    headers: {
      ...(content && { "Content-Type": "application/octet-stream" }),
      ...(etag && { "If-Match": etag }),
    },
  });
  // The answer's ETag is the file's.
  return { skill: ((await answer.json()) as { data: SkillDetail }).data, etag: "" };
}

async function request(address: string, init?: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await authorizedFetch(address, init);
  } catch (cause) {
    throw unreachable(cause);
  }
  if (!answer.ok) throw ApiError.of(answer, await answer.json().catch(() => undefined));
  return answer;
}

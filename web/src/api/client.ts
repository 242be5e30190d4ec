/** The API, typed by its OpenAPI document. */
import createClient from "openapi-fetch";
import { reportUnreachable } from "./connection";
import { ApiError, unreachable } from "./errors";
import type { components, paths } from "./schema";
import { authorizedFetch } from "./session";

export type Schemas = components["schemas"];

export const api = createClient<paths>({ baseUrl: window.location.origin, fetch: authorizedFetch });

interface Answer<T> {
  // Some addresses also answer with text, to who asks for it.
  data?: { data: T } | string | undefined;
  error?: unknown;
  response: Response;
}

/** The `data` of an answer's envelope; throws ApiError. */
export async function call<T>(request: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await request;
  } catch (cause) {
    throw noAnswer(cause);
  }
  if (answer.error !== undefined || !answer.response.ok) throw ApiError.of(answer.response, answer.error);
  return (answer.data as { data: T } | undefined)?.data as T;
}

/** What a request without an answer failed with. */
function noAnswer(cause: unknown): unknown {
  if (cause instanceof DOMException && cause.name === "AbortError") return cause;
  reportUnreachable();
  return unreachable(cause);
}

/** A request whose answer says nothing but that it went well; throws ApiError. */
export async function callEmpty(request: Promise<{ error?: unknown; response: Response }>): Promise<void> {
  await call(request.then(({ error, response }) => ({ error, response })));
}

/** The bytes of a file of the API, and the name that the server gives it; throws ApiError. */
export async function download(path: string, init?: RequestInit): Promise<{ blob: Blob; name: string }> {
  let answer: Response;
  try {
    answer = await authorizedFetch(path, init);
  } catch (cause) {
    throw noAnswer(cause);
  }
  if (!answer.ok) throw ApiError.of(answer, await answer.json().catch(() => undefined));
  return { blob: await answer.blob(), name: fileName(answer) };
}

/** Save a file of the API on the person's machine; throws ApiError. */
export async function save(path: string, init?: RequestInit): Promise<void> {
  const { blob, name } = await download(path, init);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function fileName(answer: Response): string {
  const header = answer.headers.get("Content-Disposition") ?? "";
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(header)?.[1];
  return encoded ? decodeURIComponent(encoded) : (/filename="?([^";]+)/i.exec(header)?.[1] ?? "download");
}
